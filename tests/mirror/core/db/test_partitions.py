"""Partitions: by month for balances, by first byte for transaction hashes; and the routines around them."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection

from ledger.models import AccountBalance, TransactionHash
from mirror.core.db.partitions.making import create_partitions_ahead

pytestmark = pytest.mark.django_db


def query(statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []


def nanoseconds(year: int, month: int) -> int:
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 10**9


def months(parent: str) -> list[tuple[str, int, int]]:
    return query(
        "SELECT name, from_timestamp, to_timestamp FROM mirror_node_time_partitions WHERE parent = %s", parent
    )


@pytest.mark.parametrize("parent", ["account_balance", "token_balance"])
def test_balances_have_a_partition_for_every_month_until_a_year_from_now(parent: str) -> None:
    found = months(parent)

    now = datetime.now(UTC)
    assert found[0] == (f"{parent}_p2019_09", nanoseconds(2019, 9), nanoseconds(2019, 10))
    assert found[-1][0] == f"{parent}_p{now.year + 1}_{now.month:02}"
    assert [row[2] for row in found[:-1]] == [row[1] for row in found[1:]]
    assert len(found) == (now.year + 1 - 2019) * 12 + now.month - 9 + 1


def test_missing_months_are_created_and_a_second_call_changes_nothing() -> None:
    before = months("account_balance")
    for name, _, _ in before[-3:]:
        query(f"DROP TABLE {name}")

    create_partitions_ahead()
    create_partitions_ahead()

    assert months("account_balance") == before


def test_an_earlier_partition_made_by_hand_does_no_harm() -> None:
    query(f"CREATE TABLE account_balance_p1970_01 PARTITION OF account_balance FOR VALUES FROM (0) TO ({5})")

    create_partitions_ahead()

    assert months("account_balance")[0] == ("account_balance_p1970_01", 0, 5)


def test_a_balance_is_stored_in_the_partition_of_its_month() -> None:
    timestamp = nanoseconds(2024, 2) + 1
    AccountBalance.objects.create(consensus_timestamp=timestamp, account_id=2, balance=5)

    assert query("SELECT tableoid::regclass::text FROM account_balance") == [("account_balance_p2024_02",)]


@pytest.mark.parametrize(("first", "number"), [(0x00, "00"), (0x1F, "31"), (0x20, "00"), (0xFF, "31")])
def test_a_transaction_hash_is_stored_by_its_first_byte(first: int, number: str) -> None:
    TransactionHash.objects.create(consensus_timestamp=1, hash=bytes([first]) + bytes(31))

    stored = query("SELECT tableoid::regclass::text FROM transaction_hash")
    assert stored == [(f"transaction_hash_{number}",)]


def test_there_are_32_partitions_of_transaction_hashes() -> None:
    children = query(
        "SELECT inhrelid::regclass::text FROM pg_inherits "
        "WHERE inhparent = 'transaction_hash'::regclass ORDER BY 1"
    )
    assert [name for (name,) in children] == [f"transaction_hash_{number:02}" for number in range(32)]


def test_a_transaction_is_found_by_its_whole_hash_and_by_the_first_32_bytes() -> None:
    whole = bytes(range(48))
    TransactionHash.objects.create(
        consensus_timestamp=7, hash=whole[:32], hash_suffix=whole[32:], payer_account_id=2
    )
    TransactionHash.objects.create(consensus_timestamp=8, hash=bytes(32))

    look = "SELECT * FROM get_transaction_info_by_hash(%s)"
    assert query(look, whole) == query(look, whole[:32]) == [(7, whole, 2)]
    assert query(look, bytes(32)) == [(8, bytes(32), None)]
    assert query(look, bytes(31)) == query(look, b"") == []


def test_a_lookup_by_hash_reads_one_partition() -> None:
    plan = query("EXPLAIN SELECT * FROM get_transaction_info_by_hash(%s)", b"\x25" * 32)

    text = "\n".join(line for (line,) in plan)
    assert set(re.findall(r"Scan.* on (transaction_hash_\d+)\b", text)) == {"transaction_hash_05"}


@pytest.mark.parametrize(
    ("number", "name"), [(0, "UNKNOWN"), (1, "ACCOUNT"), (6, "SCHEDULE"), (7, "UNKNOWN"), (-1, "UNKNOWN")]
)
def test_an_entity_types_number_has_its_name(number: int, name: str) -> None:
    assert query("SELECT updateentitytypefromint(%s)", number) == [(name,)]


def test_a_staging_table_has_the_columns_and_only_the_index_asked_for() -> None:
    query("CALL create_temp_table_safe('nft', 'token_id', 'serial_number')")
    query("CALL create_temp_table_safe('nft', 'token_id', 'serial_number')")
    query("CALL create_temp_table_safe('entity_stake', VARIADIC '{}')")

    def columns(table: str) -> list[tuple[Any, ...]]:
        return query(
            "SELECT attname, atttypid FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 "
            "ORDER BY attnum",
            table,
        )

    assert columns("temporary.nft_temp") == columns("nft")
    kind = "SELECT relpersistence, reloptions FROM pg_class WHERE oid = 'temporary.nft_temp'::regclass"
    assert query(kind) == [("u", ["autovacuum_enabled=false"])]
    assert query("SELECT indexdef FROM pg_indexes WHERE schemaname = 'temporary' ORDER BY 1") == [
        ("CREATE INDEX nft_temp_idx ON temporary.nft_temp USING btree (token_id, serial_number)",)
    ]
