"""Contracts of the simulated network: all uses happen, and what is loaded of them fits together."""

from collections import Counter

import pytest
from eth.vm.forks.cancun.transactions import CancunTransactionBuilder

from mirror.core.values import entity_id, log_bloom
from mirror.demo.actions import crypto, genesis
from mirror.demo.actions.contracts import calls, deploying, hooks
from mirror.demo.network import Network
from tests.ledger.ingest.load import load, stored

ACTIONS = (
    *crypto.ACTIONS,
    *deploying.ACTIONS,
    *calls.ACTIONS,
    *hooks.ACTIONS,
)


def lived(seed: int, blocks: int = 25, size: int = 30):
    """A network that did little else than call contracts, and its blocks."""
    network = Network(seed, ACTIONS)
    genesis.begin(network)
    closed = [network.close()]
    for _ in range(blocks):
        network.act(size)
        closed.append(network.close())
    return network, closed


@pytest.fixture(scope="module")
def life():
    return lived(3)


@pytest.fixture
def world(life, ledger_tables, caplog):
    """The world of a network whose blocks are loaded, without anything odd in them."""
    network, blocks = life
    load(*blocks)
    assert [record.getMessage() for record in caplog.records if record.levelname != "INFO"] == []
    return network.world


def test_every_use_of_contracts_and_hooks_happens(life):
    network, _ = life

    never = [action for action in ACTIONS if not network.performed[action.perform]]
    assert never == []
    results = Counter(result.result for result in network.world.contracts.results)
    assert {"SUCCESS", "CONTRACT_REVERT_EXECUTED", "INSUFFICIENT_GAS"} <= set(results)
    assert results["SUCCESS"] > sum(results.values()) / 2
    made = Counter(
        entity_id.num_of_long_zero(one.address) == one.number
        for one in network.world.contracts.deployed.values()
    )
    assert made[True] and made[False]


def test_what_runs_out_of_gas_uses_all_of_it(world):
    results = world.contracts.results
    actions = {
        at: (gas, used)
        for at, gas, used in stored("contract_action", "consensus_timestamp, gas, gas_used", "index = 0")
    }
    out_of_gas = [one.consensus_timestamp for one in results if one.result == "INSUFFICIENT_GAS"]
    assert out_of_gas
    assert all(gas == used for gas, used in map(actions.__getitem__, out_of_gas))


def test_the_bloom_of_a_log_holds_the_address_shown_for_it(world):
    addresses: dict[int, bytes | None] = dict(stored("entity", "id, evm_address", "type = 'CONTRACT'"))
    columns = "contract_id, topic0, topic1, topic2, topic3, bloom"
    for number, *topics, bloom in stored("contract_log", columns, "bloom <> '\\x00'"):
        words = [topic.rjust(32, b"\0") for topic in topics if topic is not None]
        assert bloom == log_bloom.create_bloom(addresses[number] or entity_id.long_zero(number), words)


def test_ethereum_transactions_are_signed_by_their_senders(world):
    senders = {one.consensus_timestamp: one.sender for one in world.contracts.results if one.contract}
    types = set()

    for at, kind, raw in stored(
        "ethereum_transaction", "consensus_timestamp, type, data", "call_data_id is null"
    ):
        types.add(kind)
        if at in senders:
            assert CancunTransactionBuilder.decode(raw).sender == world.accounts[senders[at]].evm_address

    assert types == {0, 1, 2}
