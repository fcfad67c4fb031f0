"""A database that an older release has filled is told what is to be changed; an empty one has it all."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from tests.build import START, Build
from tests.contracts.backfills.test_logs import log
from tests.upgrading import upgrade

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ["child_positions", "log_blooms", "nft_transfers", "synthetic_contract_index"]


def query(statement: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def migrate(app: str, name: str = "") -> None:
    call_command("migrate", app, *filter(None, [name]), verbosity=0)


@pytest.fixture(autouse=True)
def _backfills() -> Iterator[None]:
    before = query("select name, newest, rows, seconds, started, finished from backfill")
    yield
    with connection.cursor() as cursor:
        cursor.execute("delete from backfill")
        cursor.executemany(
            "insert into backfill (name, newest, rows, seconds, started, finished)"
            " values (%s, %s, %s, %s, %s, %s)",
            before,
        )


@pytest.mark.parametrize("is_filled", [True, False])
def test_backfills_are_left_where_an_older_release_has_rows(build: Build, is_filled: bool) -> None:
    migrate("contracts", "0001")
    migrate("tokens", "0001")
    if is_filled:
        build.block(1, end=START + 9, consensus_start=START)
        build.transaction(START + 1)
        log(START + 1)

    migrate("contracts")
    migrate("tokens")

    left = query("select name from backfill where finished is null and name = any(%s) order by 1", NAMES)
    assert [name for (name,) in left] == (NAMES if is_filled else [])
    upgrade()
    assert query("select to_regclass('contract_log__synthetic_contract_timestamp') is not null") == [(True,)]
    assert query("select synthetic, length(bloom) from contract_log") == [(True, 256)] * is_filled
