"""Balance snapshots: when they are taken, and what they hold."""

from typing import Any

import pytest
from django.db import connection

from ledger.ingest import IngestError
from ledger.ingest.balances.snapshots import snapshot_name
from mirror.demo.streams.record_files import Block
from tests.ledger.compose import DAY, Stream, num, receipt
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

START = 1_736_000_000 * 10**9  # 2025-01-04
MINUTE = 60 * 10**9
FEBRUARY = 1_738_368_000 * 10**9
BALANCES = "consensus_timestamp, account_id, balance"
TOKEN_BALANCES = "consensus_timestamp, account_id, token_id, balance"


def block_at(stream: Stream, at: int) -> Block:
    """A block of one transaction that changes nothing, at this time."""
    stream.consensus_timestamp = at
    stream.happen("uncheckedSubmit")
    return stream.block()


def times() -> list[int]:
    return [at for (at,) in stored("account_balance_file", "consensus_timestamp")]


@pytest.mark.checklist("BAL-01", "BAL-02")
def test_a_snapshot_is_due_15_minutes_after_the_last_and_the_first_2_more() -> None:
    stream = Stream(start=START)
    minutes = (0, 16, 17, 18, 31, 32.5, 60, 74)
    blocks = [block_at(stream, START + round(minute * MINUTE)) for minute in minutes]

    load_in_any_batches(*blocks)

    assert times() == [START + round(minute * MINUTE) for minute in (17, 32.5, 60)]


@pytest.mark.checklist("BAL-01")
def test_after_a_restart_the_stored_snapshots_count() -> None:
    stream = Stream(start=START)
    for minute in (0, 10, 17, 20, 32):
        load(block_at(stream, START + minute * MINUTE))

    assert times() == [START + 17 * MINUTE, START + 32 * MINUTE]


@pytest.mark.checklist("FILE-18")
def test_no_snapshot_is_taken_of_a_file_that_fails() -> None:
    stream = Stream(start=START)
    first, second = block_at(stream, START), block_at(stream, START + 17 * MINUTE)
    broken = block_at(stream, START + 34 * MINUTE)
    other = block_at(stream, START + 51 * MINUTE)

    with pytest.raises(IngestError, match="chain is broken"):
        load(first, second, other)
    assert times() == [START + 17 * MINUTE]

    load(broken, other)
    assert times() == [START + minute * MINUTE for minute in (17, 34, 51)]


def test_snapshots_are_not_taken_if_not_wanted() -> None:
    stream = Stream(start=START)
    blocks = [block_at(stream, START + minute * MINUTE) for minute in (0, 20, 40)]

    with settings(importer__parser__record__historicalBalance__enabled=False):
        load(*blocks)

    assert times() == []


def accounts_and_snapshots() -> list[Block]:
    """Snapshots at minute 18, 34, 51 and on 1 February; account 1003 is deleted at minute 40."""
    stream = Stream(start=START)
    stream.create(1001, 10)
    stream.create(1002, 20)
    stream.create(1003, 30)
    blocks = [stream.block(), block_at(stream, START + 18 * MINUTE)]
    stream.consensus_timestamp = START + 20 * MINUTE
    stream.send({1001: -3, 1002: 3})
    blocks += [stream.block(), block_at(stream, START + 34 * MINUTE)]
    stream.consensus_timestamp = START + 40 * MINUTE
    stream.crypto_delete(1003, balance=30, fee=0)
    blocks += [stream.block(), block_at(stream, START + 51 * MINUTE)]
    blocks += [block_at(stream, FEBRUARY), block_at(stream, FEBRUARY + 20 * MINUTE)]
    return blocks


@pytest.mark.checklist("BAL-03", "BAL-04", "BAL-05", "BAL-08")
def test_the_first_snapshot_of_a_month_is_full_and_others_hold_the_changes() -> None:
    load_in_any_batches(*accounts_and_snapshots())

    first, second, third = (START + minute * MINUTE for minute in (18, 34, 51))
    assert stored("account_balance", BALANCES) == [
        (first, 2, 0),
        (first, 1001, 10),
        (first, 1002, 20),
        (first, 1003, 30),
        (second, 2, 0),
        (second, 1001, 7),
        (second, 1002, 23),
        (third, 2, 30),
        (third, 1003, 0),
        (FEBRUARY, 2, 30),
        (FEBRUARY, 1001, 7),
        (FEBRUARY, 1002, 23),
        (FEBRUARY + 20 * MINUTE, 2, 30),
    ]
    columns = "id, type, created_timestamp, decline_reward, deleted, memo, timestamp_range"
    memo = "Mirror node created synthetic treasury account"
    assert stored("entity", columns, "id = 2") == [(2, "ACCOUNT", 0, True, False, memo, "[0,)")]


@pytest.mark.checklist("BAL-08")
def test_a_synthetic_treasury_counts_transfers_from_the_second_file_after_it() -> None:
    stream = Stream(start=START)
    stream.create(1001, 100)
    blocks = [stream.block()]
    stream.consensus_timestamp = START + 18 * MINUTE
    for amount in (1, 2, 4, 8):
        stream.send({1001: -amount, 2: amount})
        blocks.append(stream.block())

    load_in_any_batches(*blocks)

    assert stored("entity", "id, balance") == [(2, 4 + 8), (1001, 85)]


@pytest.mark.checklist("BAL-05")
def test_an_account_deleted_between_months_is_in_the_full_snapshot_once() -> None:
    stream = Stream(start=FEBRUARY - 20 * MINUTE)
    stream.create(1001, 10)
    blocks = [stream.block(), block_at(stream, FEBRUARY - 3 * MINUTE)]
    stream.crypto_delete(1001, balance=10, fee=0)
    blocks += [stream.block(), block_at(stream, FEBRUARY + 12 * MINUTE)]
    blocks += [block_at(stream, FEBRUARY + 30 * DAY), block_at(stream, FEBRUARY + 60 * DAY)]

    load_in_any_batches(*blocks)

    assert stored("account_balance", BALANCES, "account_id = 1001") == [
        (FEBRUARY - 3 * MINUTE, 1001, 10),
        (FEBRUARY + 12 * MINUTE, 1001, 0),
    ]


def units(token: int, amount: int) -> dict[str, Any]:
    """A record: account 1001 gets this much of a token from account 9."""
    moved = [{"accountID": num(1001), "amount": amount}, {"accountID": num(9), "amount": -amount}]
    return {"tokenTransferLists": [{"token": {"tokenNum": token}, "transfers": moved}]}


@pytest.mark.checklist("BAL-03", "BAL-04", "BAL-06", "BAL-10")
@pytest.mark.parametrize("wanted", [True, False])
def test_tokens_are_in_snapshots_as_accounts_are(wanted: bool) -> None:
    stream = Stream(start=START)
    tokens = [{"tokenNum": number} for number in (800, 801, 802)]
    stream.happen("tokenAssociate", {"account": num(1001), "tokens": tokens})
    stream.happen("cryptoTransfer", record=units(802, 3))
    blocks = [stream.block(), block_at(stream, START + 18 * MINUTE)]
    stream.consensus_timestamp = START + 20 * MINUTE
    stream.happen("cryptoTransfer", record=units(801, 5))
    stream.happen("tokenDissociate", {"account": num(1001), "tokens": tokens[2:]}, units(802, -3))
    blocks += [stream.block(), block_at(stream, START + 34 * MINUTE), block_at(stream, START + 28 * DAY)]

    with settings(importer__parser__record__historicalBalance__tokenBalances=wanted):
        load_in_any_batches(*blocks)

    first, second, third = START + 18 * MINUTE, START + 34 * MINUTE, START + 28 * DAY
    expected = [
        (first, 1001, 800, 0),
        (first, 1001, 801, 0),
        (first, 1001, 802, 3),
        (second, 1001, 801, 5),
        (second, 1001, 802, 0),
        (third, 1001, 800, 0),
        (third, 1001, 801, 5),
    ]
    assert stored("token_balance", TOKEN_BALANCES) == (expected if wanted else [])


@pytest.mark.checklist("BAL-07")
def test_entities_of_any_type_that_have_a_balance_are_in_snapshots() -> None:
    stream = Stream(start=START)
    stream.happen("fileCreate", {}, receipt(fileID={"fileNum": 1005}))
    stream.happen("consensusCreateTopic", {}, receipt(topicID={"topicNum": 700}))
    load(stream.block())
    with connection.cursor() as cursor:
        cursor.execute("update entity set balance = 4, balance_timestamp = 1 where id = 1005")

    load(block_at(stream, START + 18 * MINUTE))

    assert stored("account_balance", "account_id, balance") == [(2, 0), (1005, 4)]


@pytest.mark.checklist("BAL-09")
def test_a_snapshot_is_a_file_with_a_name_of_its_time() -> None:
    stream = Stream(start=START)
    stream.create(1001, 5)
    load(stream.block(), block_at(stream, START + 17 * MINUTE))

    columns = "consensus_timestamp, count, name, synthetic, time_offset, file_hash, bytes"
    assert stored("account_balance_file", columns) == [
        (START + 17 * MINUTE, 2, "2025-01-04T14_30_20Z_Balances.csv", True, 0, None, None)
    ]


@pytest.mark.parametrize(
    ("nanos", "text"),
    [(0, ""), (500_000_000, ".500"), (1_000, ".000001"), (1, ".000000001"), (120_000_000, ".120")],
)
def test_the_name_has_as_many_digits_as_it_needs(nanos: int, text: str) -> None:
    assert snapshot_name(START + nanos) == f"2025-01-04T14_13_20{text}Z_Balances.csv"


@pytest.mark.checklist("BAL-11")
def test_without_a_partition_there_is_no_snapshot(caplog: pytest.LogCaptureFixture) -> None:
    far = 4_000_000_000 * 10**9
    stream = Stream(start=far)
    load(block_at(stream, far), block_at(stream, far + 17 * MINUTE))

    assert times() == []
    assert "account_balance has no partition for this month" in caplog.text
    assert len(stored("record_file", "index")) == 2
