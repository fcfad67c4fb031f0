"""Lists and searches run along indexes, by PostgreSQL's own account."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, models
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoDbBlocker

from mirror.core.admin import columns
from tests.build import START
from tests.mirror.core.admin.rows import MODELS, model_name, row

pytestmark = pytest.mark.django_db

FILL = f"""
    insert into transaction (consensus_timestamp, type, result, payer_account_id, valid_start_ns)
    select {START} + n, case when n % 50 = 0 then 11 else 14 end, case when n % 90 = 0 then 7 else 22 end,
        1001 + n % 500, {START} + n - 1000
    from generate_series(1, 30000) n;
    insert into crypto_transfer (consensus_timestamp, entity_id, amount, payer_account_id)
    select {START} + n, entity, 1, 1001 + n % 500
    from generate_series(1, 30000) n, unnest(array[98, 1001 + n % 500]) entity;
    insert into transaction_hash (consensus_timestamp, hash)
    select {START} + n, sha256(n::text::bytea) from generate_series(1, 5000) n;
    insert into transaction_hash (consensus_timestamp, hash) values ({START} + 7, '\\x{"ab" * 32}');
    analyze transaction;
    analyze transaction_hash;
    analyze crypto_transfer;
"""


def plans(queries: CaptureQueriesContext, table: str) -> list[str]:
    lines = []
    with connection.cursor() as cursor:
        for query in [query["sql"] for query in queries if f'FROM "{table}"' in query["sql"]]:
            # The estimate of a total is an EXPLAIN of the same statement already.
            cursor.execute(f"explain {query.removeprefix('EXPLAIN (FORMAT json) ')}")
            lines.append("\n".join(line for (line,) in cursor.fetchall()))
    assert lines
    return lines


def _discourage(*ways: str) -> None:
    with connection.cursor() as cursor:
        for way in ways:
            cursor.execute(f"set local enable_{way} = off")


@pytest.mark.parametrize("model", MODELS, ids=model_name)
def test_an_index_delivers_the_order_of_every_list(model: Any, pages: Client) -> None:
    row(model)
    with CaptureQueriesContext(connection) as queries:
        pages.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/")

    _discourage("seqscan", "sort", "bitmapscan")
    # A list of tokens reads the units of its amounts besides, by the primary key.
    plan, *_ = plans(queries, model._meta.db_table)
    # A table this small is sorted in full only if no index has its order.
    assert "->  Sort" not in plan, plan


@pytest.mark.parametrize(
    ("model", "name"),
    [(model, name) for model in MODELS for name in columns.leading(model)],
    ids=lambda parameter: parameter if isinstance(parameter, str) else model_name(parameter),
)
def test_an_index_finds_the_rows_of_every_column_that_narrows_a_list(
    model: Any, name: str, pages: Client
) -> None:
    value = columns.kind_of(model, name).text(getattr(row(model), name))
    with CaptureQueriesContext(connection) as queries:
        answer = pages.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/", {name: value})

    assert len(answer.context["cl"].result_list) == 1
    _discourage("seqscan")
    for plan in plans(queries, model._meta.db_table):
        assert "Seq Scan" not in plan, plan


@pytest.mark.parametrize("model", MODELS, ids=model_name)
def test_every_column_is_of_a_known_kind(model: Any) -> None:
    for field in model._meta.concrete_fields:
        if field.column is not None:
            # A class of ours tells an entity id from a time or an amount.
            assert type(field) is not models.BigIntegerField, field
            assert columns.kind(field)


@pytest.fixture(scope="module")
def _filled(_test_database: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Fill the tables once; they stay so until the end of the module, where the tests that use them stand."""
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:
            cursor.execute(FILL)
        yield
        with connection.cursor() as cursor:
            cursor.execute("truncate transaction, crypto_transfer, transaction_hash")


@pytest.mark.usefixtures("_filled")
@pytest.mark.parametrize(
    ("table", "query"),
    [
        ("transaction", {}),
        ("transaction", {"o": "1"}),
        ("transaction", {"p": "20"}),
        ("transaction", {"type": "CRYPTOCREATEACCOUNT"}),
        ("transaction", {"payer_account_id": "0.0.1234"}),
        ("transaction", {"consensus_timestamp": "1700000000.5..1700000001"}),
        ("transaction", {"q": "0.0.1234"}),
        ("transaction", {"q": "0.0.9999999"}),
        ("transaction", {"q": "1700000000.000000500"}),
        ("transaction", {"q": "2023-11-14"}),
        ("transaction", {"q": "0.0.1234-1699999999-999999500"}),
        ("transaction", {"q": "ab" * 32}),
        ("transaction_hash", {"q": "ab" * 32}),
        ("crypto_transfer", {}),
        ("crypto_transfer", {"entity_id": "0.0.1234"}),
        ("crypto_transfer", {"entity_id": "0.0.98"}),
        ("crypto_transfer", {"q": "0.0.1234"}),
    ],
    ids=str,
)
def test_a_filled_table_is_read_along_an_index(table: str, query: dict[str, str], pages: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        answer = pages.get(f"/admin/ledger/{table.replace('_', '')}/", query)

    assert answer.status_code == 200

    for plan in plans(queries, table):
        assert "Seq Scan" not in plan, plan


@pytest.mark.usefixtures("_filled")
def test_transactions_are_narrowed_along_indexes(pages: Client) -> None:
    for query in (
        {"consensus_timestamp": "1700000000.000001.."},
        {"result": "FAILED"},
        {"result": "SUCCEEDED"},
        {"result": "INVALID_SIGNATURE"},
        {"result": "FAILED", "type": "CRYPTOCREATEACCOUNT"},
        {"result": "FAILED", "payer_account_id": "0.0.1234"},
        {"q": "invalid_signature"},
    ):
        with CaptureQueriesContext(connection) as queries:
            assert pages.get("/admin/ledger/transaction/", query).status_code == 200
        for plan in plans(queries, "transaction"):
            assert "Seq Scan" not in plan, plan


@pytest.mark.usefixtures("_filled")
def test_a_page_of_a_transaction_reads_the_filled_tables_along_indexes(pages: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert pages.get(f"/admin/ledger/transaction/{START + 7}/").status_code == 200

    for plan in [*plans(queries, "transaction"), *plans(queries, "crypto_transfer")]:
        assert "Seq Scan" not in plan, plan
