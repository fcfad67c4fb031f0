"""Contracts and hooks of the simulated network, as the loaded tables tell of them."""

from collections import Counter

import pytest

from ledger.stream.demo import people
from ledger.stream.demo.actions import coins, contract_calls, contracts, crypto, hooks
from ledger.stream.demo.network import Network
from mirror.values import entity_id
from tests.ledger.ingest.load import load, stored

ACTIONS = (
    *crypto.ACTIONS,
    *contracts.ACTIONS,
    *coins.ACTIONS,
    *contract_calls.ACTIONS,
    *hooks.ACTIONS,
)


def lived(seed: int, blocks: int = 20, size: int = 30):
    """A network that did little else than call contracts, and its blocks."""
    network = Network(seed, ACTIONS)
    people.begin(network)
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


def minimal(number):
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def test_the_same_seed_gives_the_same_bytes(life):
    _, blocks = lived(3)

    assert [(block.data, block.sidecars) for block in blocks] == [
        (block.data, block.sidecars) for block in life[1]
    ]


def test_everything_that_contracts_and_hooks_can_do_happens(life):
    network, _ = life

    never = [action.name for action in ACTIONS if not network.performed[action.name]]
    assert never == []
    results = Counter(result.result for result in network.world.contracts.results)
    assert {"SUCCESS", "CONTRACT_REVERT_EXECUTED", "INSUFFICIENT_GAS"} <= set(results)
    assert results["SUCCESS"] > sum(results.values()) / 2


def test_contracts_have_their_code_and_file(world):
    assert stored("contract", "id, file_id, initcode, runtime_bytecode") == sorted(
        (one.number, one.file, one.initcode, one.code) for one in world.contracts.deployed.values()
    )


def test_storage_has_the_values_contracts_wrote(world):
    expected = [
        (one.number, slot.to_bytes(32, "big"), minimal(held.value), held.modified)
        for one in world.contracts.deployed.values()
        for slot, held in one.slots.items()
    ]

    assert stored("contract_state", "contract_id, slot, value, modified_timestamp") == sorted(expected)


def test_results_tell_what_came_of_each_transaction(world):
    columns = "consensus_timestamp, contract_id, sender_id, transaction_hash, gas_limit, gas_used, amount"
    rows = stored("contract_result", f"{columns}, call_result, error_message")

    assert rows == sorted(
        (
            *(one.consensus_timestamp, one.contract or 0, one.sender, one.hash),
            *(one.gas_limit, one.gas_used, one.amount, one.output, one.error),
        )
        for one in world.contracts.results
    )


def test_logs_are_those_the_contracts_wrote(world):
    columns = "consensus_timestamp, index, contract_id, topic0, data"
    rows = stored("contract_log", columns, "bloom <> '\\x00'")

    assert [(row[0], row[2], row[3], row[4]) for row in rows] == [
        (one.consensus_timestamp, log.contract, log.topics[0], log.data)
        for one in world.contracts.results
        for log in one.logs
    ]


def test_nonces_and_balances_agree(world):
    rows = {row[0]: row[1:] for row in stored("entity", "id, balance, ethereum_nonce, evm_address")}

    for number, account in world.accounts.items():
        assert rows[number][0] == account.balance
        if account.is_contract or account.nonce:
            assert rows[number][1] == account.nonce
        if account.is_contract:
            assert rows[number][2] == account.address


def test_the_outermost_action_uses_the_gas_of_the_result_without_its_start(world):
    actions = {
        row[0]: row[1:]
        for row in stored("contract_action", "consensus_timestamp, gas, gas_used", "index = 0")
    }
    checked = 0

    for result in world.contracts.results:
        if result.consensus_timestamp in actions and result.result == "INSUFFICIENT_GAS":
            gas, used = actions[result.consensus_timestamp]
            assert gas == used
            checked += 1
    assert checked


def test_senders_of_ethereum_transactions_are_who_signed_them(world):
    types = Counter(row[1] for row in stored("ethereum_transaction", "consensus_timestamp, type"))

    assert set(types) == {0, 1, 2}
    for raw, at in stored("ethereum_transaction", "data, consensus_timestamp"):
        sender = stored("contract_result", "sender_id", f"consensus_timestamp = {at}")
        if sender:
            address = recovered(raw, at)
            assert address is None or address == world.accounts[sender[0][0]].evm_address


def recovered(raw, at):
    """The address that signed a transaction; None if its call data is in a file."""
    from eth.vm.forks.cancun.transactions import CancunTransactionBuilder

    if stored("ethereum_transaction", "call_data_id", f"consensus_timestamp = {at}") != [(None,)]:
        return None
    return CancunTransactionBuilder.decode(raw).sender


def test_hooks_and_their_storage_agree(world):
    known = world.contracts.hooks.values()

    assert stored("hook", "owner_id, hook_id, contract_id, created_timestamp, deleted") == sorted(
        (one.owner, one.hook_id, one.contract, one.created, one.deleted) for one in known
    )
    columns = "owner_id, hook_id, key, value, created_timestamp, modified_timestamp"
    assert stored("hook_storage", columns, "not deleted") == sorted(
        (one.owner, one.hook_id, key, slot.value, slot.created, slot.modified)
        for one in known
        for key, slot in one.slots.items()
        if slot.value
    )


def test_contracts_created_by_a_transaction_of_the_network_live_at_their_long_zero_address(world):
    made = Counter(
        entity_id.num_of_long_zero(one.address) == one.number for one in world.contracts.deployed.values()
    )

    assert made[True] and made[False]
