"""Readers of partitioned tables: the same answers as from whole ones, and no months in vain."""

import re
from collections.abc import Iterator
from itertools import product

import pytest
import pytest_django
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger.models import Transaction
from ledger.queries import chain_ids, fee_schedules
from mirror.core.db.partitions import months
from mirror.core.db.partitions.catalogue import partitionable_tables
from mirror.core.db.reading import by_month
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.sql import Comparison, compare
from network.queries import simple_fees
from tests.api import Api
from tests.build import SECOND, START
from tests.contract.filled import fill
from tests.contract.requests import REQUESTS
from tests.ledger.ingest.load import settings
from tests.partitions import cut, own_database, query, template

HOUR = 3600 * SECOND
# fill() makes rows of 20,000 seconds.
ENDS = [START - 40 * HOUR, START - 1, *(START + hour * HOUR for hour in range(1, 7)), START + 50 * HOUR]


@pytest.fixture(autouse=True)
def _unblocked(_test_database: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield


def urls() -> Iterator[str]:
    for route, (paths, queries) in REQUESTS.items():
        for path in paths:
            parts = iter(path.split())
            filled = "/".join(next(parts) if part.startswith("{") else part for part in route.split("/"))
            yield from (f"/api/v1/{filled}{'?' if each else ''}{each}" for each in queries)


def answers() -> dict[str, tuple[int, bytes]]:
    for remembered in (fee_schedules, chain_ids, simple_fees):
        remembered.forget()
    api = Api(budgeted=False)
    # Another plan may take longer: no answer may be short for that.
    with settings(rest__query__timeBudget=0.0):
        found = {url: api.get(url) for url in urls()}
    return {url: (answer.status, answer.body) for url, answer in found.items()}


def test_every_request_has_the_same_answer_from_whole_and_from_partitioned_tables() -> None:
    with own_database(partitioned=False):
        fill()
        whole = answers()
    with own_database(partitioned=True):
        cut(ENDS)
        fill()
        months.forget()
        partitioned = answers()
        # The parts before the first row and after the last one have none.
        assert len(months.months()) == len(ENDS) - 3

    assert {url: answer for url, answer in partitioned.items() if answer != whole[url]} == {}


def add(*times: int) -> None:
    for time in times:
        Transaction.objects.create(
            consensus_timestamp=time, type=14, result=22, payer_account_id=2, valid_start_ns=time
        )


EDGES = [START + hour * HOUR for hour in range(8)]


@pytest.fixture(scope="module")
def with_five_months(_test_database: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[str]:
    def fill() -> None:
        cut(EDGES)
        add(*(START + hour * HOUR + SECOND for hour in (0, 1, 3, 4, 5)))

    with django_db_blocker.unblock(), template(fill) as name:
        yield name


@pytest.fixture
def five_months(with_five_months: str) -> Iterator[list[months.Month]]:
    """Transactions in five of six months of an hour."""
    with own_database(partitioned=True, template=with_five_months):
        yield [months.Month(EDGES[hour], EDGES[hour + 1]) for hour in (0, 1, 3, 4, 5)]


def test_months_without_rows_are_left_out(five_months: list[months.Month]) -> None:
    assert list(months.months()) == five_months


@pytest.mark.parametrize("descending", [True, False], ids=["newest first", "oldest first"])
def test_a_list_is_read_month_by_month_and_then_of_twice_as_many(
    five_months: list[months.Month], descending: bool
) -> None:
    order = sorted(five_months, reverse=descending)

    windows = list(by_month.windows(Bounds(), descending=descending))

    groups = [order[:1], order[1:2], order[2:4], order[4:]]
    assert windows == [Bounds(min(group).lower, max(month.upper for month in group) - 1) for group in groups]


def test_a_list_ends_with_the_month_that_fills_its_page(five_months: list[months.Month]) -> None:
    with CaptureQueriesContext(connection) as statements:
        rows = by_month.by_month(
            lambda times: list(
                Transaction.objects.filter(
                    consensus_timestamp__gte=times.lower, consensus_timestamp__lte=times.upper
                )
            ),
            Bounds(),
            Query(descending=True, limit=2),
        )

    assert len(rows) == 2
    assert len(statements) == 2


def test_a_month_that_begins_while_readers_run_is_seen(five_months: list[months.Month]) -> None:
    assert list(months.all_months()) == five_months
    add(START + 6 * HOUR + SECOND)
    months._no_later_until = 0.0

    last = months.Month(START + 6 * HOUR, START + 7 * HOUR)
    assert list(months.all_months()) == [*five_months, last]


def test_readers_wait_for_no_partition_that_is_being_dropped(five_months: list[months.Month]) -> None:
    months.months()
    first, second = (
        name
        for (name,) in query(
            "select inhrelid::regclass::text from pg_inherits where inhparent = 'transaction'::regclass "
            "order by inhrelid limit 2"
        )
    )
    query(f"alter table transaction detach partition {first}")
    query("set lock_timeout = '200ms'")
    months._no_later_until = 0.0
    dropping = connection.copy()
    with dropping.cursor() as cursor:
        # What PostgreSQL does in the second half of detaching.
        cursor.execute(f"begin; lock table {second} in access exclusive mode")

        assert list(months.all_months()) == five_months

        cursor.execute("rollback")
    dropping.close()


def test_a_partition_made_while_another_is_dropped_is_seen(five_months: list[months.Month]) -> None:
    """As many as before, but not the same."""
    months.months()
    ((first,),) = query(
        "select inhrelid::regclass::text from pg_inherits where inhparent = 'transaction'::regclass "
        "order by inhrelid limit 1"
    )
    query(f"alter table transaction detach partition {first}")
    cut([START + 7 * HOUR, START + 8 * HOUR])
    add(START + 7 * HOUR + SECOND)
    months._no_later_until = 0.0

    assert months.all_months()[-1] == months.Month(START + 7 * HOUR, START + 8 * HOUR)


@pytest.mark.usefixtures("five_months")
def test_the_months_of_a_comparison_leave_out_none_of_its_rows() -> None:
    symbols = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
    wrong = []
    for operator, hours in product(symbols, [-1, 0, 1.5, 2.5, 5, 7, 9, 10**7]):
        value = START + int(hours * HOUR)
        count = "select count(*) from transaction t"
        expected = query(f"{count} where consensus_timestamp {symbols[operator]} %s", value)
        where = compare("t.consensus_timestamp", [Comparison(operator, value)])
        if query(f"{count} {where.sql}", *where.values) != expected:
            wrong.append((operator, hours))

    assert wrong == []


def test_a_comparison_of_a_time_opens_its_month_alone(five_months: list[months.Month]) -> None:
    where = compare("consensus_timestamp", [Comparison("eq", START + HOUR + SECOND)])

    with connection.cursor() as cursor:
        cursor.execute(f"prepare one (bigint) as select * from transaction {where.sql.replace('%s', '$1')}")
        cursor.execute("set plan_cache_mode = force_generic_plan")
        cursor.execute(f"explain execute one ({where.values[0]})")
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert len(set(re.findall(r" on (transaction_p[\d_]+)", plan))) == 1


def test_rows_of_another_table_before_the_first_month_of_transactions_are_seen() -> None:
    """Its first partition goes on after that, as it does where tables were partitioned at different times."""
    rows = [
        months._Row("transaction_p1", 60, 70, "transaction", True, 1, 9),
        months._Row("topic_message_p1", 10, 70, "topic_message", True, 2, 8),
    ]

    assert months._read_state(rows).months == (months.Month(10, 60), months.Month(60, 70))


def test_whole_tables_are_read_as_ever() -> None:
    with own_database(partitioned=False):
        add(START)

        assert months.months() == ()
        assert list(by_month.windows(by_month.ALL_TIMES, descending=True)) == [by_month.ALL_TIMES]
        assert compare("consensus_timestamp", [Comparison("eq", 1)]).conditions == (
            "consensus_timestamp = %s",
        )
        assert by_month.and_months(by_month.ALL_TIMES, "c.consensus_timestamp") == ""
        assert len(partitionable_tables()) == 12
