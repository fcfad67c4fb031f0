"""Databases the migrations meet: an empty one of an ordinary owner, and one that has its tables already."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.backends.base.base import BaseDatabaseWrapper

from mirror.core.db.schema.backfill import IndexBuild, MonthlyPartitioning
from mirror.upgrade.runner import BACKFILLS
from tests.mirror.core.db.conftest import ALIAS
from tests.mirror.core.db.describe import describe, djangos_tables

# What the original's releases after 0.145.1 have changed, taken back.
TO_0_145_1 = """
    alter table record_file add node_id bigint not null, drop previous_wrapped_record_block_hash,
        drop wrapped_record_block_hash, drop receipts_root;
    alter table account_balance_file add node_id bigint not null;
    alter table entity drop delegation_address;
    alter table entity_history drop delegation_address;
    alter table transaction drop high_volume, drop congestion_pricing_multiplier,
        drop high_volume_pricing_multiplier;
    alter table contract_log drop synthetic;
    alter table ethereum_transaction drop authorization_list, drop access_list, add access_list bytea;
    alter table node drop associated_registered_nodes;
    alter table node_history drop associated_registered_nodes;
    alter type hook_type rename value 'EVM' to 'LAMBDA';
    drop table ledger, registered_node, registered_node_history"""
OURS = (
    "backfill",
    "balance_difference",
    "contract_call_filter",
    "dropped_rows",
    "archive_location",
    "loaded_errata",
    "loaded_range",
    "loader_state",
    "node_minute",
    "archive_failure",
    "skipped_transaction",
    "stored_network",
)
# These have rows in the dumps below, so their indexes are built during use.
FILLED = ("contract_log", "ethereum_transaction", "record_file")
OWN_INDEXES = {name for name, build in BACKFILLS.items() if isinstance(build, IndexBuild)}
KEY_INDEX = "entity__public_key_type"
STATEMENT = Path(__file__).with_name("schema.json")

RECORD_FILE = (
    "INSERT INTO record_file (name, hash, prev_hash, consensus_start, consensus_end, count, "
    "digest_algorithm, version, file_hash, index, load_start, load_end{0}) "
    "VALUES ('a', '', '', 1, %s, 1, 0, 6, '', 1, 1, 1{1})"
)


def test_a_database_with_the_tables_is_adopted_as_it_is(other: BaseDatabaseWrapper) -> None:
    call_command("migrate", database=ALIAS, verbosity=0)
    with other.cursor() as cursor:
        for table in djangos_tables():
            cursor.execute(f'DROP TABLE IF EXISTS "{table}" CASCADE')
        cursor.execute(
            "INSERT INTO crypto_transfer (entity_id, consensus_timestamp, amount, payer_account_id) "
            "VALUES (3, 1, 10, 2)"
        )
    before = describe(other)

    call_command("migrate", database=ALIAS, verbosity=0, fake_initial=True)

    assert describe(other) == before
    call_command("migrate", database=ALIAS, check_unapplied=True)  # exits when something is pending
    with other.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM crypto_transfer")
        assert cursor.fetchone() == (1,)


def test_a_dump_of_the_originals_release_0_145_1_is_adopted_and_has_all_backfills_ahead(
    other: BaseDatabaseWrapper,
) -> None:
    _make_a_dump(other, TO_0_145_1)
    with other.cursor() as cursor:
        cursor.execute(
            "INSERT INTO ethereum_transaction (consensus_timestamp, data, gas_limit, hash, "
            "max_gas_allowance, nonce, payer_account_id, signature_r, signature_s, type, value, access_list) "
            "VALUES (7, '\\x01', 1, '\\x02', 3, 4, 5, '\\x', '\\x', 2, '\\x47', '\\xc0')"
        )
        cursor.execute(
            "INSERT INTO contract_log (consensus_timestamp, index, bloom, contract_id, data, "
            "payer_account_id) VALUES (7, 0, '', 1, '', 2)"
        )
        cursor.execute(RECORD_FILE.format(", node_id", ", 0"), [7])

    call_command("migrate", database=ALIAS, verbosity=0, fake_initial=True)

    assert _sorted(describe(other)) == _sorted(
        json.loads(STATEMENT.read_text()) | {"tables": _without_indexes_to_build()}
    )
    # Tables are partitioned only on request.
    asked = [name for name, build in BACKFILLS.items() if not isinstance(build, MonthlyPartitioning)]
    assert _backfills(other) == {name: (7, _is_built(name)) for name in asked}
    with other.cursor() as cursor:
        cursor.execute("SELECT value, access_list, in_weibars FROM ethereum_transaction")
        ((value, *rest),) = cursor.fetchall()
    assert (bytes(value), rest) == (b"\x47", [None, False])


def test_a_dump_of_the_originals_newest_release_is_adopted_and_what_it_repaired_is_not_repaired_again(
    other: BaseDatabaseWrapper,
) -> None:
    _make_a_dump(other)
    with other.cursor() as cursor:
        cursor.execute(RECORD_FILE.format("", ""), [9])

    call_command("migrate", database=ALIAS, verbosity=0, fake_initial=True)

    assert _sorted(describe(other)) == _sorted(
        json.loads(STATEMENT.read_text()) | {"tables": _without_indexes_to_build(FILLED[-1:])}
    )
    backfills = _backfills(other)
    assert {name for name, (_, finished) in backfills.items() if finished and name not in OWN_INDEXES} == {
        "child_positions",
        "contract_allowances",
        "duplicate_logs",
        "gone_nodes_rewards",
        "log_blooms",
        "long_stakes_rewards",
    }
    assert {newest for newest, finished in backfills.values() if not finished} == {9}


def test_a_new_database_has_no_backfill_ahead(other: BaseDatabaseWrapper) -> None:
    call_command("migrate", database=ALIAS, verbosity=0)

    assert all(finished for _, finished in _backfills(other).values())


@pytest.mark.parametrize("has_stakes", [True, False])
def test_rewards_of_long_term_stakers_are_valued_again_after_release_1_0_0(
    other: BaseDatabaseWrapper, has_stakes: bool
) -> None:
    call_command("migrate", database=ALIAS, verbosity=0)
    call_command("migrate", "mirror", "0001", database=ALIAS, verbosity=0)
    with other.cursor() as cursor:
        cursor.execute(
            "UPDATE backfill SET newest = 9, position = 3, started = now(), finished = now(), rows = 5"
        )
        if has_stakes:
            cursor.execute(
                "INSERT INTO entity_stake (id, end_stake_period, pending_reward, staked_node_id_start, "
                "staked_to_me, stake_total_start, timestamp_range) VALUES (1001, 1, 0, 0, 0, 0, '[1,)')"
            )

    call_command("migrate", database=ALIAS, verbosity=0)

    expected = {"long_stakes_rewards"} if has_stakes else set()
    assert {name for name, (_, finished) in _backfills(other).items() if not finished} == expected


def _make_a_dump(database: BaseDatabaseWrapper, changes: str = "") -> None:
    """Make the tables of a dump of the original: without ours, our column and our indexes."""
    call_command("migrate", database=ALIAS, verbosity=0)
    indexes = [build.index for build in BACKFILLS.values() if isinstance(build, IndexBuild)]
    with database.cursor() as cursor:
        cursor.execute(f"DROP INDEX {', '.join(indexes)}")
        cursor.execute(f"CREATE INDEX {KEY_INDEX} ON entity (public_key, type) WHERE public_key IS NOT NULL")
        cursor.execute(f"DROP TABLE IF EXISTS {', '.join((*djangos_tables(), *OURS))} CASCADE")
        cursor.execute("ALTER TABLE ethereum_transaction DROP COLUMN in_weibars")
        if changes:
            cursor.execute(changes)


def _sorted(schema: dict[str, Any]) -> dict[str, Any]:
    """Columns that a dump gets may come in any order."""
    for table in schema["tables"].values():
        table["columns"].sort()
    return schema


def _without_indexes_to_build(filled: Collection[str] = FILLED) -> dict[str, Any]:
    """Return the committed tables, without the indexes that are built during use of those with rows."""
    tables: dict[str, Any] = json.loads(STATEMENT.read_text())["tables"]
    later = [build.index for build in BACKFILLS.values() if isinstance(build, IndexBuild)]
    for name in filled:
        indexes = tables[name]["indexes"]
        tables[name]["indexes"] = [text for text in indexes if text.partition(":")[0] not in later]
    return tables


def _is_built(name: str) -> bool:
    """Return whether a backfill is an index of a table without rows, which the migration makes."""
    build = BACKFILLS[name]
    return isinstance(build, IndexBuild) and not any(f'ON "{table}" ' in build.statement for table in FILLED)


def _backfills(database: BaseDatabaseWrapper) -> dict[str, tuple[int | None, bool]]:
    with database.cursor() as cursor:
        cursor.execute("SELECT name, newest, finished IS NOT NULL FROM backfill")
        return {name: (newest, finished) for name, newest, finished in cursor.fetchall()}


def test_an_owner_who_is_no_superuser_gets_the_whole_schema(other: BaseDatabaseWrapper) -> None:
    call_command("migrate", database=ALIAS, verbosity=0)

    assert describe(other) == json.loads(STATEMENT.read_text())


def test_the_migrations_can_be_taken_back(other: BaseDatabaseWrapper) -> None:
    call_command("migrate", database=ALIAS, verbosity=0)

    for app in ("ledger", "mirror", "web3sim"):
        call_command("migrate", app, "zero", database=ALIAS, verbosity=0)

    left = describe(other)
    assert left.pop("schemas") == ["public"]
    assert not any(left.values()), left
