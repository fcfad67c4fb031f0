"""Databases the migrations meet: an empty one of an ordinary owner, and one that has its tables already."""

import json
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db.backends.base.base import BaseDatabaseWrapper

from mirror.core.db.backfill import Division, IndexBuild
from mirror.operations.upgrade.backfills import BACKFILLS
from tests.mirror.core.db.conftest import ALIAS
from tests.mirror.core.db.describe import describe, djangos_tables

# The last migrations that have the schema of the original's release 0.145.1.
OLD = {"mirror": "0003", "ledger": "0002", "contracts": "0001", "network": "0001", "tokens": "0002"}
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
    for app, migration in OLD.items():
        call_command("migrate", app, migration, database=ALIAS, verbosity=0)
    _forget_what_is_ours(other)
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

    assert describe(other) == json.loads(STATEMENT.read_text()) | {"tables": _without_indexes_to_build()}
    # Tables are divided only on request.
    asked = [name for name, build in BACKFILLS.items() if not isinstance(build, Division)]
    assert _backfills(other) == {name: (7, _is_built(name)) for name in asked}
    with other.cursor() as cursor:
        cursor.execute("SELECT value, access_list, in_weibars FROM ethereum_transaction")
        ((value, *rest),) = cursor.fetchall()
    assert (bytes(value), rest) == (b"\x47", [None, False])


def test_a_dump_of_the_originals_newest_release_is_adopted_and_what_it_repaired_is_not_repaired_again(
    other: BaseDatabaseWrapper,
) -> None:
    call_command("migrate", database=ALIAS, verbosity=0)
    _forget_what_is_ours(other)
    with other.cursor() as cursor:
        cursor.execute("ALTER TABLE ethereum_transaction DROP COLUMN in_weibars")
        cursor.execute(RECORD_FILE.format("", ""), [9])

    call_command("migrate", database=ALIAS, verbosity=0, fake_initial=True)

    assert describe(other)["tables"] == json.loads(STATEMENT.read_text())["tables"]
    backfills = _backfills(other)
    assert {name for name, (_, finished) in backfills.items() if finished and name not in OWN_INDEXES} == {
        "contract_allowances",
        "duplicate_logs",
        "gone_nodes_rewards",
        "long_stakes_rewards",
    }
    assert {newest for newest, finished in backfills.values() if not finished} == {9}


def test_a_new_database_has_no_backfill_ahead(other: BaseDatabaseWrapper) -> None:
    call_command("migrate", database=ALIAS, verbosity=0)

    assert all(finished for _, finished in _backfills(other).values())


def test_a_migration_that_was_interrupted_goes_on(other: BaseDatabaseWrapper) -> None:
    call_command("migrate", database=ALIAS, verbosity=0)
    before = describe(other)
    with other.cursor() as cursor:
        cursor.execute(
            "DELETE FROM django_migrations WHERE app = 'mirror' "
            "OR app IN ('ledger', 'tokens') AND name > '0003' "
            "OR app IN ('contracts', 'network') AND name > '0002'"
        )
        cursor.execute("DROP TABLE loader_state, stored_network, skipped_transaction")
        cursor.execute("ALTER TABLE ethereum_transaction DROP COLUMN in_weibars")
        cursor.execute("ALTER TABLE record_file DROP COLUMN wrapped_record_block_hash")
        cursor.execute("ALTER TABLE record_file ADD node_id bigint")
        cursor.execute("DROP TABLE registered_node")

    call_command("migrate", database=ALIAS, verbosity=0)

    after = describe(other)
    for schema in (before, after):
        for table in schema["tables"].values():
            table["columns"].sort()
    assert after == before


def _forget_what_is_ours(database: BaseDatabaseWrapper) -> None:
    """Leave of a database what a dump of the original's has."""
    with database.cursor() as cursor:
        for table in (*djangos_tables(), *OURS):
            cursor.execute(f'DROP TABLE IF EXISTS "{table}" CASCADE')


def _without_indexes_to_build() -> dict[str, Any]:
    """Return the committed tables, without the indexes that are built during use."""
    tables: dict[str, Any] = json.loads(STATEMENT.read_text())["tables"]
    later = [build.index for build in BACKFILLS.values() if isinstance(build, IndexBuild)]
    for name in FILLED:
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
