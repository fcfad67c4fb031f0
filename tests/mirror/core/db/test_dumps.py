"""Dumps of the original, made from the reference alone, with rows: adopted, upgraded, read."""

import json
import os
import subprocess
import sys
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import call_command
from django.db.backends.base.base import BaseDatabaseWrapper

from mirror.core.db.schema.backfill import IndexBuild, MonthlyPartitioning
from mirror.upgrade.runner import BACKFILLS
from tests.build import START
from tests.contracts.compose import ethereum_data
from tests.mirror.core.db import dumps
from tests.mirror.core.db.conftest import ALIAS
from tests.mirror.core.db.describe import describe
from tests.mirror.core.db.test_adoption import STATEMENT
from tests.node import ROOT

# `upgrade` builds these indexes of tables with rows; the newest dump has one of them.
BUILT_LATER = {build.index for build in BACKFILLS.values() if isinstance(build, IndexBuild)}
SYNTHETIC_INDEX = "contract_log__synthetic_timestamp"

if not dumps.REFERENCE.exists():
    pytest.skip(f"{dumps.REFERENCE} is not there", allow_module_level=True)


@pytest.fixture
def old(other: BaseDatabaseWrapper) -> BaseDatabaseWrapper:
    """A dump of release 0.145.1, without rows."""
    execute(other, dumps.release_0_145_1())
    return other


def execute(database: BaseDatabaseWrapper, statements: str) -> None:
    with database.cursor() as cursor:
        cursor.execute(statements)


def select(database: BaseDatabaseWrapper, query: str) -> list[Any]:
    with database.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def fill(database: BaseDatabaseWrapper) -> None:
    """Store two rows in every table: one with all its columns, one without those that may be null."""
    for name, table in dumps.tables().items():
        for number in (1, 2):
            columns = [
                column
                for column in table["columns"]
                if number == 1 or not column["nullable"] or column["name"] in (table["primary_key"] or ())
            ]
            names = ", ".join(f'"{column["name"]}"' for column in columns)
            values = ", ".join(some(database, column, number) for column in columns)
            execute(database, f"insert into {name} ({names}) values ({values})")


def some(database: BaseDatabaseWrapper, column: dict[str, Any], number: int) -> str:
    kind = column.get("domain_base_type") or column["type"]
    if kind == "bytea":
        return f"'\\x0{number}'"
    if kind in ("bigint", "integer", "smallint"):
        return str(number)
    if kind == "boolean":
        return "true"
    if kind == "jsonb":
        return "'[1]'"
    if kind == "int8range":
        return f"int8range({number}, null)"
    if kind.endswith("[]"):
        return "'{}'"
    if kind.startswith(("character", "text")):
        return f"'{number}'"
    if kind.startswith("timestamp"):
        return "now()"
    ((first,),) = select(database, f"select (enum_range(null::{kind}))[1]")
    return f"'{first}'"


def contents(database: BaseDatabaseWrapper) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all tables that a dump of the oldest release has."""
    return {
        name: [
            json.loads(row)
            for (row,) in select(database, f"select to_jsonb(t)::text from {name} t order by 1")
        ]
        for name in dumps.tables()
    }


def adopt() -> None:
    call_command("migrate", database=ALIAS, verbosity=0, fake_initial=True)


def test_a_dump_of_release_0_145_1_has_its_rows_after_the_migrations_as_before(
    old: BaseDatabaseWrapper,
) -> None:
    fill(old)
    before = contents(old)

    adopt()

    after = contents(old)
    gone = {"node_id": ("record_file", "account_balance_file"), "access_list": ("ethereum_transaction",)}
    for name, rows in before.items():
        for row, row_after in zip(rows, after[name], strict=True):
            for column, tables in gone.items():
                if name in tables:
                    del row[column]
            if name in ("hook", "hook_history"):
                row["type"] = "EVM"
            assert row.items() <= row_after.items(), name
    assert described(old) == described_as_committed(without=BUILT_LATER)


def described(database: BaseDatabaseWrapper) -> dict[str, Any]:
    tables = describe(database)["tables"]
    return {name: as_set(table) for name, table in tables.items() if name != "a_check_point_of_a_job"}


def described_as_committed(*, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the committed tables without these indexes."""
    tables = json.loads(STATEMENT.read_text())["tables"]
    for table in tables.values():
        table["indexes"] = [text for text in table["indexes"] if text.partition(":")[0] not in without]
    if "entity__public_key_type_id" in without:
        # What it replaces, until then.
        replaced = "entity__public_key_type: btree (public_key, type) where (public_key IS NOT NULL)"
        tables["entity"]["indexes"] = sorted([*tables["entity"]["indexes"], replaced])
    return {name: as_set(table) for name, table in tables.items()}


def as_set(table: dict[str, Any]) -> dict[str, Any]:
    """Columns may come in any order."""
    return table | {"columns": sorted(table["columns"])}


def test_a_dump_of_the_newest_release_has_its_rows_after_the_migrations_as_before(
    old: BaseDatabaseWrapper,
) -> None:
    fill(old)
    execute(old, dumps.TO_0_160)
    before = contents(old)

    adopt()

    after = contents(old)
    for row in after["ethereum_transaction"]:
        assert row.pop("in_weibars") is False
    assert after == before
    assert described(old) == described_as_committed(without=BUILT_LATER - {SYNTHETIC_INDEX})


@pytest.mark.parametrize("newest", [False, True], ids=["0.145.1", "0.160"])
def test_a_dump_with_a_row_of_every_kind_is_upgraded(old: BaseDatabaseWrapper, newest: bool) -> None:
    fill(old)
    execute(
        old,
        "update transaction set type = 50; "
        "update record_file set consensus_start = 1, version = 6, count = 9",
    )
    data = {at: ethereum_data(kind=kind) for at, kind in ((START, 0), (START + 1, 2))} | {START + 2: b"\x05"}
    for at, rlp in data.items():
        execute(
            old,
            "insert into ethereum_transaction (consensus_timestamp, data, gas_limit, gas_price, hash, "
            "max_gas_allowance, nonce, payer_account_id, signature_r, signature_s, type, value, access_list) "
            f"values ({at}, '\\x{rlp.hex()}', 1, '\\x47', '\\x02', 3, 4, 5, '', '', 2, '\\x03', '\\xc0')",
        )
    execute(old, f"update record_file set consensus_end = {START + 2} where consensus_end = 2")
    if newest:
        execute(old, dumps.TO_0_160)

    adopt()
    said = upgrade(old)

    assert said.endswith("Done: all rows are as this release writes them.\n"), said
    assert described(old) == described_as_committed()
    assert select(
        old,
        "select gas_price, value, in_weibars from ethereum_transaction "
        f"where consensus_timestamp >= {START} order by consensus_timestamp",
    ) == [
        (bytes.fromhex("a54f4c3c00"), bytes.fromhex("06fc23ac00"), True),
        (None, bytes.fromhex("06fc23ac00"), True),
        (b"\x47", b"\x03", False),
    ]
    assert upgrade(old).splitlines() == ["Nothing to do: no row of an older release is left to change."]


def upgrade(database: BaseDatabaseWrapper) -> str:
    given = database.get_connection_params()
    user, host, port = given.get("user", ""), given.get("host", ""), given.get("port", "")
    url = f"postgresql://{user}@/{given['dbname']}?host={host}&port={port}"
    done = subprocess.run(
        [sys.executable, "manage.py", "upgrade"],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout


def test_two_processes_at_once_make_the_tables_of_an_empty_database(other: BaseDatabaseWrapper) -> None:
    with ThreadPoolExecutor(2) as processes:
        said = list(processes.map(upgrade, [other, other]))

    assert all(
        each.endswith("Nothing to do: no row of an older release is left to change.\n") for each in said
    ), said


class Interrupted(Exception):
    """The end of a process that migrates."""


@pytest.mark.parametrize("statements", [0, 1, 12, 25])
def test_migrations_go_on_wherever_they_were_interrupted(old: BaseDatabaseWrapper, statements: int) -> None:
    fill(old)
    left = statements

    def interrupt(execute: Any, sql: str, *others: Any) -> Any:
        nonlocal left
        if str(sql).lstrip().startswith(("ALTER", "CREATE", "INSERT INTO backfill")):
            left -= 1
            if left < 0:
                raise Interrupted
        return execute(sql, *others)

    with old.execute_wrapper(interrupt), pytest.raises(Interrupted):
        adopt()
    adopt()

    assert described(old) == described_as_committed(without=BUILT_LATER)
    ahead = "select count(*) filter (where finished is null), min(newest), count(*) from backfill"
    # Tables are partitioned by month only if the operator wants it.
    wanted = sum(not isinstance(backfill, MonthlyPartitioning) for backfill in BACKFILLS.values())
    assert select(old, ahead) == [(wanted, 2, wanted)]
    assert select(old, "select in_weibars from ethereum_transaction") == [(False,), (False,)]
