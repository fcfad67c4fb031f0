"""Plain Cancun as two other EVMs see it: the cases of a folder, through every engine.

The folder is MIRROR_EVM_CASES, otherwise `../shared/conformance/evm`.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.web3sim.engine.world import ENGINES, World
from web3sim.engine.interface import (
    AccountRecord,
    BlockEnvironment,
    CallRequest,
    CallResult,
    Log,
    Profile,
    Status,
)

FOLDER = Path(os.environ.get("MIRROR_EVM_CASES", Path(__file__).parents[4] / "shared/conformance/evm"))


def _number(text: str) -> int:
    return int(text, 16)


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def _world(pre: Mapping[str, dict], codes: Mapping[str, str]) -> World:
    """The state before a case."""
    world = World()
    for address, account in pre.items():
        code = account["code"]
        world.accounts[_bytes(address)] = AccountRecord(
            balance=_number(account["balance"]),
            nonce=account["nonce"],
            code=_bytes(codes[code[1:]] if code.startswith("@") else code),
        )
        for slot, value in account["storage"].items():
            world.slots[_bytes(address), _number(slot)] = _number(value)
    return world


def _cases() -> Iterator[object]:
    for file in sorted(FOLDER.glob("*.json")):
        group = json.loads(file.read_text())
        for case in group.get("cases", []):
            yield pytest.param(group, case, id=case["name"])


def _block(given: Mapping[str, str]) -> BlockEnvironment:
    return BlockEnvironment(
        number=_number(given["number"]),
        timestamp=_number(given["timestamp"]),
        coinbase=_bytes(given["coinbase"]),
        prevrandao=_bytes(given["prevrandao"]),
        gas_limit=_number(given["gasLimit"]),
        chain_id=_number(given["chainId"]),
        base_fee=_number(given["baseFee"]),
    )


def _changed(result: CallResult) -> dict:
    """`postChanged` of a result: balances and slots that differ from before."""
    changed: dict[str, dict] = {}
    for address, balance in result.balances.items():
        changed.setdefault("0x" + address.hex(), {})["balance"] = hex(balance)
    for (address, slot), change in result.slots.items():
        if change.written not in (None, change.read) and address not in result.deleted:
            entry = changed.setdefault("0x" + address.hex(), {})
            entry.setdefault("storage", {})[hex(slot)] = hex(change.written)
    return changed


def _expected_changes(case: Mapping) -> dict:
    changes = {address: dict(entry) for address, entry in case["expect"]["postChanged"].items()}
    for entry in changes.values():
        if "storage" in entry:
            storage = entry["storage"].items()
            entry["storage"] = {hex(_number(slot)): hex(_number(value)) for slot, value in storage}
    return changes


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"There are no EVM cases in {FOLDER} (MIRROR_EVM_CASES).")
@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(("group", "case"), list(_cases()))
def test_an_engine_does_what_other_evms_do(name, group, case):
    call, expect = case["call"], case["expect"]
    request = CallRequest(
        sender=_bytes(call["from"]),
        to=_bytes(call["to"]) if call["to"] else None,
        data=_bytes(call["data"]),
        gas=_number(call["gas"]),
        value=_number(call["value"]),
        gas_price=_number(call["gasPrice"]),
        profile=Profile.ETHEREUM,
    )

    result = ENGINES[name].execute(request, _block(group["block"]), _world(case["pre"], group["codes"]))

    assert result.status.value == expect["status"]
    assert "0x" + result.output.hex() == expect["output"]
    assert result.intrinsic_gas == expect["intrinsicGas"]
    assert result.execution_gas == expect["executionGas"]
    assert min(result.refund, (result.intrinsic_gas + result.execution_gas) // 5) == expect["gasRefund"]
    assert result.gas_used == expect["gasUsed"]
    assert result.logs == tuple(
        Log(_bytes(log["address"]), tuple(_bytes(topic) for topic in log["topics"]), _bytes(log["data"]))
        for log in expect["logs"]
    )
    if result.status is Status.HALT:
        assert result.halt is not None
        assert result.halt.value == expect["halt"]
    if "created" in expect:
        assert _bytes(expect["created"]) in result.created
    assert _changed(result) == _expected_changes(case)
