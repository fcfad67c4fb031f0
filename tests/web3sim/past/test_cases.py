"""A mismatch that was kept is enough to run the transaction again, without a database.

Cases of `manage.py replay --save` in the folder MIRROR_REPLAY_CASES are run as well, and fail for as long as
the engines differ from what was recorded.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.ledger.ingest.load import load, stored
from tests.web3sim.engine.world import ENGINES, World
from tests.web3sim.past.lives import lived
from web3sim.engine.interface import AccountKind, AccountRecord, BlockEnvironment, CallRequest, CallResult
from web3sim.engine.versions import LATEST, VERSIONS
from web3sim.past import replay
from web3sim.past.comparison import Replayed
from web3sim.past.replay import Range

FOLDER = os.environ.get("MIRROR_REPLAY_CASES")
NONE = pytest.param(Path("none"), marks=pytest.mark.skip(reason="no saved cases (MIRROR_REPLAY_CASES)"))
KEPT: list[Any] = sorted(Path(FOLDER).glob("*.json")) if FOLDER else [NONE]


def number(text: str) -> int:
    return int(text, 16)


def data(text: str) -> bytes:
    return bytes.fromhex(text[2:])


class KeptWorld(World):
    hashes: dict[int, bytes]

    def block_hash(self, number: int) -> bytes:
        return self.hashes[number]


def executed(engine: str, kept: Mapping[str, Any]) -> CallResult:
    """Run a kept case."""
    (case,) = kept["cases"]
    block, call = kept["block"], case["call"]
    world = KeptWorld()
    world.hashes = {number(asked): data(told) for asked, told in block["hashes"].items()}
    for address, account in case["pre"].items():
        world.accounts[data(address)] = AccountRecord(
            balance=number(account["balance"]),
            nonce=account["nonce"],
            code=data(account["code"]),
            kind=AccountKind(account["kind"]),
            receiver_signature_required=account["receiverSignatureRequired"],
        )
        for slot, value in account["storage"].items():
            world.slots[data(address), number(slot)] = number(value)
    request = CallRequest(
        sender=data(call["from"]),
        to=data(call["to"]) if call["to"] else None,
        data=data(call["data"]),
        gas=number(call["gas"]),
        value=number(call["value"]),
        gas_price=number(call["gasPrice"]),
        new_contract_address=data(call["newContractAddress"]) if call["newContractAddress"] else None,
        version=VERSIONS[call["evmVersion"]] if "evmVersion" in call else LATEST,
    )
    environment = BlockEnvironment(
        number=number(block["number"]),
        timestamp=number(block["timestamp"]),
        coinbase=data(block["coinbase"]),
        prevrandao=data(block["prevrandao"]),
        gas_limit=number(block["gasLimit"]),
        chain_id=number(block["chainId"]),
        base_fee=number(block["baseFee"]),
    )
    return ENGINES[engine].execute(request, environment, world)


def check(kept: Mapping[str, Any], result: CallResult) -> None:
    """Compare with what was recorded."""
    expect = kept["cases"][0]["expect"]
    assert result.status.value == expect["status"]
    if expect["status"] == "success":
        assert f"0x{result.output.hex()}" == expect["output"]
    assert sorted(f"0x{address.hex()}" for address in result.created) == expect["created"]
    assert [(log.address, log.topics, log.data) for log in result.logs] == [
        (data(log["address"]), tuple(map(data, log["topics"])), data(log["data"])) for log in expect["logs"]
    ]
    changed: dict[str, dict[str, dict[str, str]]] = {}
    for (address, slot), change in result.slots.items():
        if change.written not in (None, change.read):
            storage = changed.setdefault(f"0x{address.hex()}", {}).setdefault("storage", {})
            storage[hex(slot)] = hex(change.written or 0)
    assert changed == expect["postChanged"]
    assert result.gas_used == expect["gasUsed"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_stored_case_has_the_recorded_result(file, engine):
    kept = json.loads(file.read_text())
    check(kept, executed(engine, kept))


def test_stored_case_needs_no_database(ledger_tables):
    load(*lived(seed=5, blocks=12)[1])
    recorded: dict[int, int] = dict(stored("contract_result", "consensus_timestamp, gas_used"))
    with connection.cursor() as cursor:
        # So that each is one to keep.
        cursor.execute("update contract_result set gas_used = gas_used + 1")
    told: list[Replayed] = []
    replay.replay(Range(), "pyevm-blocks", 1, told.append)
    cases = {one.consensus_timestamp: one.case for one in told if one.case is not None}
    assert len(cases) > 20
    for at, case in cases.items():
        kept = json.loads(json.dumps(case))
        result = executed("pyevm", kept)
        assert result.gas_used == recorded[at]
        kept["cases"][0]["expect"]["gasUsed"] = recorded[at]
        check(kept, result)
