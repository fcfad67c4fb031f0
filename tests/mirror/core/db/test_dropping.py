"""Dropping months: whole months of partitioned tables alone, while others read and load, and after a kill."""

import threading
import time
from collections.abc import Iterator

import pytest
import pytest_django
from django.core.management import CommandError, call_command
from django.db import connection

from ledger.models import Transaction
from mirror.core.db.partitions import dropping
from mirror.core.values.timestamp import parse_iso
from tests.ledger.compose import Stream
from tests.ledger.ingest.load import load
from tests.ledger.ingest.tables import contents
from tests.partitions import own_database, query, template

JULY = parse_iso("2024-07-01")
KEPT_WHOLE = {"entity", "record_file", "transaction_hash"}


@pytest.fixture(scope="module")
def with_two_months(_test_database: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[str]:
    stream = Stream(start=JULY - 3)
    for _ in range(6):
        stream.happen("uncheckedSubmit")
    with django_db_blocker.unblock(), template(lambda: load(stream.block())) as name:
        yield name


@pytest.fixture(autouse=True)
def two_months(with_two_months: str, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """Transactions of June and July 2024, in tables partitioned by month."""
    with django_db_blocker.unblock(), own_database(partitioned=True, template=with_two_months):
        yield


def partitions_of(month: str) -> list[str]:
    found = query("select relname from pg_class where relkind = 'r' and relname like %s", f"%\\_p{month}")
    return [name for (name,) in found if not name.endswith(f"balance_p{month}")]


def test_a_month_is_dropped_from_every_partitioned_table_and_what_has_no_month_stays() -> None:
    before = contents()
    assert len(partitions_of("2024_06")) == 12

    call_command("drop", before="2024-07")

    assert partitions_of("2024_06") == []
    assert Transaction.objects.count() == 5
    assert min(Transaction.objects.values_list("consensus_timestamp", flat=True)) >= JULY
    after = contents()
    assert {table: after[table] for table in KEPT_WHOLE & set(before)} == {
        table: before[table] for table in KEPT_WHOLE & set(before)
    }


def test_an_estimate_drops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("drop", before="2024-07", estimate=True)

    assert "12 partitions of " in capsys.readouterr().out
    assert Transaction.objects.count() == 6


def test_months_that_another_has_dropped_meanwhile_are_passed_over() -> None:
    chosen = dropping.expired(JULY)

    assert dropping.drop(chosen) == chosen
    assert dropping.drop(chosen) == []


@pytest.mark.parametrize("month", ["2024-08", "2024-13", "June"])
def test_the_month_of_the_last_transaction_and_what_is_no_month_are_refused(month: str) -> None:
    with pytest.raises(CommandError, match="month"):
        call_command("drop", before=month)

    assert Transaction.objects.count() == 6


def test_readers_go_on_while_a_month_is_dropped() -> None:
    stopping = threading.Event()
    errors: list[Exception] = []
    counts: list[int] = []

    def read() -> None:
        try:
            while not stopping.is_set():
                with connection.cursor() as cursor:
                    cursor.execute("select count(*) from transaction")
                    counts.append(cursor.fetchone()[0])
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        while len(counts) < 20:
            time.sleep(0.01)
        dropping.drop(dropping.expired(JULY))
    finally:
        seen = len(counts)
        while len(counts) < seen + 20 and not errors:
            time.sleep(0.01)
        stopping.set()
        for reader in readers:
            reader.join()

    assert not errors
    assert set(counts) == {6, 5}


@pytest.mark.parametrize("step", ["detached", "detaching"])
def test_a_drop_killed_between_its_steps_is_finished_by_the_next(step: str) -> None:
    query("comment on table transaction_p2024_06 is 'detached from transaction to be dropped'")
    if step == "detached":
        query("alter table transaction detach partition transaction_p2024_06")
    else:
        detach_until_interrupted()

    call_command("drop", before="2024-07")

    assert partitions_of("2024_06") == []


def detach_until_interrupted() -> None:
    """Leave a partition that is being detached, as that waits for a reader."""
    reader = connection.copy()
    with reader.cursor() as cursor:
        cursor.execute("begin; select count(*) from transaction")
        query("set statement_timeout = '200ms'")
        with pytest.raises(Exception, match="timeout"):
            query("alter table transaction detach partition transaction_p2024_06 concurrently")
    query("reset statement_timeout")
    reader.close()
