"""Loaded tables hold what the API does not show, and what long pauses change; tests/e2e compares the rest."""

import pytest

from mirror.core.values import timestamp
from mirror.core.values.hapi.messages import SignaturePair
from mirror.core.values.hapi.transaction_types import NUMBERS
from mirror.core.values.timestamp import NANOS_PER_DAY
from mirror.demo.actions import genesis
from mirror.demo.network import Network
from mirror.demo.streams.keys import nodes as signing_nodes
from mirror.demo.streams.record_files import Block
from mirror.demo.world.network import Freeze
from tests.ledger.ingest.load import load, stored
from tests.mirror.demo.lives import HOUR, items, life, rows

SIGNATURES = {field.name: field.number for field in SignaturePair.DESCRIPTOR.fields}
ADDRESS_BOOKS = (101, 102)


def accounts_match(network: Network) -> None:
    columns = "id, balance, staked_node_id, stake_period_start, decline_reward"
    found = stored("entity", columns, "type = 'ACCOUNT'")
    known = rows(
        network.world.accounts.values(), "number balance staked_node_id stake_period_start decline_reward"
    )
    assert found == [tuple(-1 if value is None else value for value in row) for row in sorted(known)]
    assert sum(row[1] for row in found) == genesis.SUPPLY


def files_match(network: Network) -> None:
    columns = "id, created_timestamp, deleted, memo, key, expiration_timestamp"
    found = network.world.files.values()
    known = sorted(found, key=lambda one: one.number)
    assert stored("entity", columns, "type = 'FILE'") == rows(
        known, "number created deleted memo keys expiration"
    )
    assert stored("file_data", "consensus_timestamp, entity_id, transaction_type, file_data") == sorted(
        (change.consensus_timestamp, one.number, NUMBERS[change.kind], change.contents)
        for one in found
        for change in one.changes
    )


def schedules_match(network: Network) -> None:
    found = sorted(network.world.schedules.values(), key=lambda one: one.number)
    columns = """schedule_id, consensus_timestamp, creator_account_id, payer_account_id, transaction_body,
        executed_timestamp, expiration_time, wait_for_expiry, deleted, memo, key"""
    fields = "number created creator payer scheduled executed expiration waits deleted memo admin_key"
    assert stored("schedule join entity on id = schedule_id", columns) == rows(found, fields)
    columns = "entity_id, consensus_timestamp, public_key_prefix, signature, type"
    assert stored("transaction_signature", columns) == sorted(
        (one.number, each.consensus_timestamp, each.prefix, each.signature, SIGNATURES[each.kind])
        for one in found
        for each in one.signatures
    )


def system_matches(network: Network) -> None:
    system = network.world.system
    columns = "consensus_timestamp, type, payer_account_id, start_time, end_time, file_id, file_hash"
    assert stored("network_freeze", columns) == [
        (each.consensus_timestamp, each.kind, each.payer, *times(each), each.file, each.file_hash)
        for each in system.freezes
    ]
    columns = "consensus_timestamp, payer_account_id, range, prng_number, prng_bytes"
    assert stored("prng", columns) == [
        (each.consensus_timestamp, each.payer, each.bound, *in_columns(each.drawn)) for each in system.draws
    ]


def times(step: Freeze) -> tuple[int, int | None]:
    """Steps without a time begin and end at midnight."""
    midnight = step.consensus_timestamp // NANOS_PER_DAY * NANOS_PER_DAY
    return (midnight, midnight) if step.start is None else (step.start, None)


def in_columns(drawn: int | bytes) -> tuple[int | None, bytes | None]:
    return (None, drawn) if isinstance(drawn, bytes) else (drawn, None)


def batches_match(blocks: list[Block]) -> None:
    """A batch lists payer and valid start of what it held, also when that failed."""
    inner: dict[int, list[int]] = {}
    for item in items(blocks):
        if item.body.HasField("batch_key"):
            batch = timestamp.to_ns(item.record.parent_consensus_timestamp)
            identifier = item.body.transactionID
            inner.setdefault(batch, []).extend(
                (identifier.accountID.accountNum, timestamp.to_ns(identifier.transactionValidStart))
            )
    where = f"type = {NUMBERS['ATOMICBATCH']} and inner_transactions is not null"
    assert dict(stored("transaction", "consensus_timestamp, inner_transactions", where)) == inner
    assert inner


def staking_matches(network: Network) -> None:
    staking = network.world.staking
    columns = "id, end_stake_period, staked_node_id_start, staked_to_me, stake_total_start, pending_reward"
    assert {row[0]: row[1:] for row in stored("entity_stake", columns)} == {
        number: (
            stake.ended_day,
            -1 if stake.node is None else stake.node,
            stake.staked_to_me,
            stake.total,
            stake.pending,
        )
        for number, stake in staking.stakes.items()
    }
    columns = "consensus_timestamp, node_id, stake_rewarded, stake_not_rewarded, reward_rate"
    assert stored("node_stake", columns)[-4:] == [
        (staking.updates[-1], node, stake.rewarded, stake.not_rewarded, stake.reward_rate)
        for node, stake in staking.nodes.items()
    ]


@pytest.mark.usefixtures("ledger_tables")
@pytest.mark.parametrize("seed", range(2))
def test_balances_files_and_stakes_match_a_network_that_pauses_for_hours(seed: int) -> None:
    network, blocks = life(seed, blocks=40, transactions=20, pause=2 * HOUR)

    load(*blocks)

    accounts_match(network)
    files_match(network)
    staking_matches(network)
    system_matches(network)
    batches_match(blocks)


@pytest.mark.usefixtures("ledger_tables")
@pytest.mark.parametrize(("days", "updates"), [(3, 11), (100, 29)])
def test_schedules_and_stakes_match_a_network_that_pauses_for_days(days: int, updates: int) -> None:
    network, blocks = life(seed=3, blocks=6, transactions=80, pause=days * 24 * HOUR)

    load(*blocks)

    assert len(network.world.staking.updates) == updates
    accounts_match(network)
    files_match(network)
    schedules_match(network)
    staking_matches(network)
    system_matches(network)


@pytest.mark.usefixtures("ledger_tables")
def test_the_address_book_lists_the_nodes_that_sign() -> None:
    _, blocks = life(seed=0, blocks=1, transactions=1)

    load(*blocks)

    columns = "node_id, node_account_id, public_key, description"
    of_files = [
        (node.node_id, node.account_id, node.address_book_node.public_key) for node in signing_nodes()
    ]
    listed = [(*node, f"Demo node {node[0]}") for node in of_files for _ in ADDRESS_BOOKS]
    assert stored("address_book_entry", columns) == listed
    assert len(stored("address_book_service_endpoint", "node_id, port")) == 2 * len(listed)
