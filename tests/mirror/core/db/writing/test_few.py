"""Few changes between barriers: without staging tables, unless PostgreSQL refuses them."""

import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper

from ledger.models import CustomFee, Entity
from mirror.core.db.writing.rows import Rows
from tests.ledger.ingest.load import stored
from tokens.models import TokenAccount

pytestmark = pytest.mark.django_db


def _nothing(cursor: CursorWrapper) -> None:
    pass


def add_changes(rows: Rows, since: int, memo: str = "") -> None:
    """Change an object in each of three tables."""
    rows.upsert(Entity, since=since, id=1001, type="ACCOUNT", memo=memo)
    rows.upsert(TokenAccount, since=since, account_id=1001, token_id=2, associated=True)
    rows.upsert(CustomFee, since=since, entity_id=2, fixed_fees=[])


def messages_of(rows: Rows, path: Path) -> list[tuple[str, str]]:
    """Write the rows; return kind and content of each message to PostgreSQL."""
    with connection.cursor() as cursor, path.open("w+") as trace:
        pgconn = connection.connection.pgconn
        pgconn.trace(trace.fileno())
        pgconn.set_trace_flags(psycopg.pq.Trace.SUPPRESS_TIMESTAMPS)
        try:
            rows.write(cursor)
        finally:
            pgconn.untrace()
    return re.findall(r"^F\t\d+\t(\w+)(.*?)(?=^[BF]\t\d|\Z)", path.read_text(), re.M | re.S)


@pytest.mark.parametrize("barriers", [1, 20])
def test_few_changes_between_barriers_take_a_savepoint_and_prepared_statements(
    barriers: int, tmp_path: Path
) -> None:
    rows = Rows()
    for since in range(barriers):
        add_changes(rows, since)
        rows.barrier(_nothing)

    messages = messages_of(rows, tmp_path / "trace")

    queries = [content for kind, content in messages if kind == "Query"]
    assert sum('"SAVEPOINT' in each for each in queries) == barriers
    assert sum(kind == "Bind" for kind, _ in messages) == barriers * 3
    assert sum(kind == "Parse" for kind, _ in messages) <= 3
    assert not any("_staging" in each or "COPY" in each for each in queries)


@pytest.mark.parametrize(
    ("refused", "columns"),
    [
        ({"memo": "a\0b"}, ("a\ufffdb", 0)),
        ({"balance": 1 << 70}, ("", (1 << 63) - 1)),
    ],
    ids=["text", "number"],
)
def test_changes_that_postgresql_refuses_are_staged_with_all_others_between_the_barriers(
    refused: dict[str, Any], columns: tuple[str, int]
) -> None:
    rows = Rows()
    rows.upsert(Entity, since=3, id=1002, type="ACCOUNT")
    rows.barrier(_nothing)
    add_changes(rows, 5)
    rows.upsert(Entity, since=6, id=1001, **refused)
    with connection.cursor() as cursor:
        rows.write(cursor)

    assert stored("entity", "id, memo, balance") == [(1001, *columns), (1002, "", 0)]
    assert stored("entity_history", "id, memo, balance") == [(1001, "", 0)]
    assert stored("token_account", "account_id, token_id") == [(1001, 2)]
    assert stored("custom_fee", "entity_id, fixed_fees") == [(2, [])]
