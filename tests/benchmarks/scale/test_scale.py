"""The benchmark of large databases, on a tiny one."""

from collections.abc import Iterator
from urllib.parse import urlencode

import psycopg
import pytest
from django.db import connection

from mirror.core.values.hapi.result_codes import SUCCESS
from mirror.core.values.hapi.transaction_types import NUMBERS
from tests.api import route_of
from tests.benchmarks.scale import cases, measure
from tests.benchmarks.scale.filling import fill_tables
from tests.benchmarks.scale.rows import FREEZES, Shape
from tests.benchmarks.scale.values import values
from tests.contract.requests import REQUESTS
from tests.partitions import disconnect

SHAPE = Shape(2_000, hours=1)
# PostgreSQL gives names to those of partitions.
INDEXES = r"""
    select regexp_replace(indexdef, 'INDEX \S+ ON', 'INDEX ON') from pg_indexes
    where schemaname = current_schema() order by 1
"""


@pytest.fixture(scope="module")
def large(_test_database, django_db_blocker) -> Iterator[str]:
    """Yield the URL of a filled copy of the tests' database: filling changes the catalogue."""
    with django_db_blocker.unblock():
        parameters = connection.get_connection_params()
        connection.close()
    name = f"{parameters['dbname']}_scale"
    given = {key: str(parameters[key]) for key in ("user", "password", "host", "port") if parameters.get(key)}
    with psycopg.connect(dbname="postgres", autocommit=True, **given) as server:  # type: ignore[arg-type]
        server.execute(f"drop database if exists {name}".encode())
        disconnect(server.cursor(), parameters["dbname"])
        server.execute(f"create database {name} template {parameters['dbname']}".encode())
        url = f"postgresql:///{name}?{urlencode(given)}"
        with psycopg.connect(url, autocommit=True) as filling:
            before = filling.execute(INDEXES).fetchall()
            fill_tables(url, SHAPE, lambda text: None)
            assert filling.execute(INDEXES).fetchall() == before
        yield url
        server.execute(f"drop database {name} (force)".encode())


@pytest.fixture
def rows(large: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(large, autocommit=True) as reading:
        yield reading


def one(rows: psycopg.Connection, statement: str) -> object:
    ((found,),) = rows.execute(statement.encode()).fetchall()
    return found


def test_what_a_transaction_moves_adds_up_to_zero(rows):
    unequal = "select 1 from crypto_transfer group by consensus_timestamp having sum(amount) <> 0"
    assert one(rows, f"select count(*) from ({unequal}) unequal") == 0
    assert one(rows, "select sum(amount) from token_transfer") == 0


def test_there_are_rare_types_failures_and_busy_accounts(rows):
    assert one(rows, f"select count(*) from transaction where type = {NUMBERS['FREEZE']}") == FREEZES
    failed = one(rows, f"select count(*) from transaction where result not in {tuple(SUCCESS)}")
    assert isinstance(failed, int) and 0.01 < failed / SHAPE.transactions < 0.06
    paid = "select count(*) from transaction group by payer_account_id order by 1 desc limit 1"
    assert one(rows, f"select ({paid}) > 10 * avg(many) from ({paid.replace(' desc limit 1', '')}) t (many)")
    collected = "select count(distinct consensus_timestamp) from crypto_transfer where entity_id = 98"
    assert one(rows, collected) == SHAPE.transactions


def test_every_case_finds_its_values(rows):
    named = values(rows)
    lacking = [case for case in [*cases.kinds(), *cases.worst_cases()] if cases.filled(case, named) is None]
    assert lacking == []


def test_cases_ask_every_endpoint_that_reads_the_database(rows):
    named = values(rows)
    asked = {
        route_of(url.partition("?")[0])
        for case in [*cases.kinds(), *cases.worst_cases()]
        if (url := cases.filled(case, named))
    }
    # Opcodes are what a simulation says, not the database; proofs need the files of the network.
    assert set(REQUESTS) - asked == {
        "contracts/results/{transactionIdOrHash}/opcodes",
        "transactions/{transactionId}/stateproof",
    }


def test_requests_are_asked_in_both_databases_and_reported(large):
    chosen = "^(transactions-default|token-id|tokens: fungible, name, asc)$"
    found = list(measure.measure(large, large, None, chosen, "wall", print))
    assert [one.name for one in found] == ["transactions-default", "token-id", "tokens: fungible, name, asc"]
    assert {one.large.answer["status"] for one in found} == {200}
    first = found[0]
    assert first.large.answer["rows"] == 25 and first.large.answer["more"]
    assert first.large.answer["pages"] > 25 and first.large.answer["whole"] == []
    report = measure.report(found)
    assert report.startswith("3 requests")
    assert "| token-id |" in report
