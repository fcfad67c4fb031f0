"""Estimates for the contracts of a simulated network: a limit that suffices, and gas that does not."""

import itertools
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from mirror.core.rest.limits import redis_buckets
from mirror.demo.evm.solidity import call_data, compiled
from mirror.demo.network import Network
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.contracts import Contract
from tests.api import Api
from tests.ledger.ingest.load import load, stored
from tests.web3sim.past.lives import lived
from web3sim.api import call as endpoint
from web3sim.calls import call
from web3sim.calls.messages import Call
from web3sim.processes import pool
from web3sim.state.blocks import BlockSelector

# Functions that fail whatever is asked of them, or may be called by another contract alone, or that call the
# token service, which is not simulated for them, or that schedule a call for a time that is past by now.
NEVER = {
    "Locker": {"pay(address,uint256)", "unlock()"},
    "Steward": {"remind(address,uint256)"},
    "Faults": {
        *("custom(uint256,string)", "element(uint256)", "exhaust()", "failAssertion()", "invalid()"),
        *("reason(string)", "silent()", "writeAndFail(uint256)"),
    },
    "Till": {"takeHbars(address,int64)", "takeUnits(address,address,uint256)"},
}
# It catches the failure of its inner call: with less gas that may fail for the lack of it, to the same end.
CATCHES = {("Faults", "undone(uint256)")}


class Asked(NamedTuple):
    """A call; `block` is None for the state of now."""

    sender: bytes
    to: bytes | None
    data: bytes
    value: int = 0
    block: int | None = None


@pytest.fixture(scope="module")
def life():
    return lived(seed=5, blocks=45)


@pytest.fixture
def network(life, ledger_tables, tmp_path, settings) -> Iterator[Network]:
    """Of all kinds of contracts there is one; all is loaded."""
    settings.DATA_DIR = tmp_path
    redis_buckets.process_buckets.cache_clear()
    endpoint._filters.cache_clear()
    load(*life[1])
    yield life[0]
    pool.stop()


def used(asked: Asked) -> int | None:
    """The gas a call uses; None if it fails."""
    selector = BlockSelector() if asked.block is None else BlockSelector(number=asked.block)
    answer = call.answer(
        Call(
            block=selector,
            data=asked.data,
            sender=asked.sender,
            to=asked.to,
            gas=5_000_000,
            gas_price=0,
            value=asked.value,
            estimate=False,
            engine="pyevm-blocks",
            deadline=float("inf"),
        )
    )
    return answer.used if answer.status == 200 else None


def recorded() -> Iterator[Asked]:
    """What succeeded, on the state at the end of the block before."""
    blocks = stored("record_file", "consensus_end, index")
    addresses = {id: address or id.to_bytes(20, "big") for id, address in stored("entity", "id, evm_address")}
    for at, contract, sender, data, value in stored(
        "contract_result",
        "consensus_timestamp, contract_id, sender_id, function_parameters, amount",
        "transaction_result = 22 and transaction_nonce = 0",
    ):
        number = next(index for end, index in blocks if end >= at)
        yield Asked(addresses[sender], addresses[contract], data, value or 0, number - 1)


def made_up(network: Network, contract: Contract, signature: str) -> Iterator[Asked]:
    """Calls of a function by those who know the contract, with small numbers and addresses of theirs."""
    people = [one for one in (contract.owner, *contract.parties) if one is not None][:3]
    if not people:
        people = [one.number for one in network.world.accounts.values() if one.balance > 100 * HBAR][-2:]
    addresses = [network.world.accounts[one].address for one in people]
    pools: dict[str, list[Any]] = {
        "address": addresses,
        "uint256": [0, 1, 2, 10**6],
        "bool": [True],
        "bytes32": [(7).to_bytes(32, "big")],
        "bytes4": [bytes.fromhex("80ac58cd")],
        "bytes": [b""],
    }
    types = [name for name in signature.partition("(")[2].rstrip(")").split(",") if name]
    for arguments in itertools.product(*(pools[name] for name in types)):
        for sender in addresses:
            for value in (0, HBAR):
                yield Asked(sender, contract.address, call_data(signature, *arguments), value)


def successful_calls(network: Network) -> dict[tuple[str, str], Asked]:
    """By kind and function one that succeeds."""
    history = list(recorded())
    found: dict[tuple[str, str], Asked] = {}
    for contract in network.world.contracts.deployed.values():
        for signature, selector in compiled(contract.kind).selectors.items():
            key = contract.kind, signature
            if key in found or signature in NEVER.get(contract.kind, ()):
                continue
            begins = bytes.fromhex(selector.removeprefix("0x"))
            candidates = itertools.chain(
                (one for one in history if one.to == contract.address and one.data[:4] == begins),
                made_up(network, contract, signature),
            )
            works = next((one for one in candidates if used(one) is not None), None)
            if works is not None:
                found[key] = works
    return found


def post(asked: Asked, **more: object) -> tuple[int, str]:
    body = {
        "from": asked.sender.hex(),
        "to": None if asked.to is None else asked.to.hex(),
        "data": asked.data.hex(),
        "value": asked.value,
        "block": "latest" if asked.block is None else str(asked.block),
    }
    content = json.dumps(body | more).encode()
    answer = Api().request("POST", "/api/v1/contracts/call", content, content_type="application/json")
    return answer.status, answer.body.decode()


def test_an_estimate_suffices_and_less_than_is_used_does_not(network):
    calls = successful_calls(network)
    kinds = {contract.kind for contract in network.world.contracts.deployed.values()}
    everything = {(kind, signature) for kind in kinds for signature in compiled(kind).selectors}
    never = {(kind, signature) for kind, signatures in NEVER.items() for signature in signatures}
    assert {"Coin", "Collectible", "Counter", "Exchange", "Factory", "Faults", "Locker"} <= kinds
    assert calls.keys() == everything - never

    for name, asked in calls.items():
        least = used(asked)
        assert least is not None
        status, body = post(asked, estimate=True)
        assert status == 200, (name, body)
        estimate = int(json.loads(body)["result"], 16)
        assert least <= estimate, name
        status, body = post(asked, gas=estimate)
        assert status == 200, (name, body)
        status, body = post(asked, gas=least * 99 // 100)
        assert status == 400 or name in CATCHES, (name, body)
