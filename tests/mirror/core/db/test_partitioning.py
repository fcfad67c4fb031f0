"""Partitioning tables by month: the same rows as without it, months made by the loader, and tables with rows
partitioned while they are used.
"""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import pytest_django
from django.db import OperationalError, connection

from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.models import Transaction
from ledger.stream.source.local import find_record_files
from mirror.core.config.setting import OperatorError
from mirror.core.db.partitions import making, partitioning
from mirror.core.db.partitions.catalogue import partitionable_tables, partitioned_tables, partitions
from mirror.core.db.partitions.making import create_partitions_ahead
from mirror.core.db.partitions.partitioning import partition_table
from mirror.core.db.schema.backfill import IndexBuild
from mirror.core.values.timestamp import month_start, parse_iso
from mirror.demo.publish.history import History
from mirror.demo.streams.keys import nodes
from mirror.upgrade import remaining, runner
from mirror.upgrade.runner import BACKFILLS
from mirror.upgrade.tables import arrange_partitions
from tests.ledger.compose import Stream
from tests.ledger.ingest.load import load, settings
from tests.ledger.ingest.tables import contents
from tests.partitions import divide_all, own_database, query

BEFORE_JULY = parse_iso("2024-06-29")
JULY = parse_iso("2024-07-01")
HISTORY = History(blocks=16, tps=5, seed=3, hours=24 * 40, start=BEFORE_JULY)


@pytest.fixture(autouse=True)
def _unblocked(_test_database: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    for _, block in HISTORY.play(nodes()):
        block.write(folder)
    return folder


def load_files(folder: Path) -> None:
    Pipeline().run(find_record_files([folder]))


def names(table: str) -> list[str]:
    return [partition.name for partition in partitions(table)]


def partitioned() -> list[str]:
    return partitioned_tables()


def shape(table: str) -> list[Any]:
    """The columns, indexes and rights of a table."""
    columns = query(
        "select attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid) "
        "from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum "
        "where attrelid = %s::regclass and attnum > 0 and not attisdropped order by attnum",
        table,
    )
    indexes = query(
        "select indexrelid::regclass::text, replace(pg_get_indexdef(indexrelid), ' ONLY ', ' ') "
        "from pg_index where indrelid = %s::regclass order by 1",
        table,
    )
    return [columns, indexes, query("select relacl::text from pg_class where oid = %s::regclass", table)]


def test_the_same_stream_gives_the_same_rows_in_whole_and_in_partitioned_tables(history: Path) -> None:
    with own_database(partitioned=False):
        load_files(history)
        whole = contents()
    with own_database(partitioned=True):
        load_files(history)

        assert partitioned() == list(partitionable_tables())
        assert contents() == whole
        assert {"transaction_p2024_06", "transaction_p2024_07", "transaction_p2024_08"} < set(
            names("transaction")
        )
        assert query("select count(*) > 0 from crypto_transfer_p2024_07") == [(True,)]


def test_a_block_across_the_end_of_a_month_is_in_two_partitions() -> None:
    stream = Stream(start=JULY - 2)
    for _ in range(4):
        stream.happen("uncheckedSubmit")
    with own_database(partitioned=True):
        load(stream.block())

        stored = query("select tableoid::regclass::text, count(*) from transaction group by 1 order by 1")
        assert [name for name, _ in stored] == ["transaction_p2024_06", "transaction_p2024_07"]
        assert sum(count for _, count in stored) == 4


def test_a_loader_makes_the_next_month_before_it_begins() -> None:
    stream = Stream(start=JULY)
    stream.happen("uncheckedSubmit")
    with own_database(partitioned=True):
        load(stream.block())

        assert names("transaction")[:2] == ["transaction_p2024_07", "transaction_p2024_08"]
        assert names("contract_action")[:2] == ["contract_action_p2024_07", "contract_action_p2024_08"]


def test_a_start_makes_months_only_for_balances_until_a_year_from_now() -> None:
    with own_database(partitioned=True):
        before = names("transaction")

        create_partitions_ahead()

        assert len(before) == 2
        assert names("transaction") == before


def test_a_month_is_made_while_a_reader_holds_the_table() -> None:
    stream = Stream(start=JULY)
    stream.happen("uncheckedSubmit")
    with own_database(partitioned=True):
        reader = connection.copy()
        with reader.cursor() as cursor:
            cursor.execute("begin; select count(*) from transaction; select count(*) from crypto_transfer")

        load(stream.block())

        reader.close()
        assert Transaction.objects.count() == 1


def test_a_partitioned_table_has_the_columns_indexes_and_rights_of_the_whole_one() -> None:
    with own_database(partitioned=False):
        query("grant select on contract_log to public")
        before = {table: shape(table) for table in partitionable_tables()}
        divide_all()
        after = {table: shape(table) for table in partitionable_tables()}

    # Partitions are unique only with the time.
    columns, indexes, rights = before["topic_message"]
    with_time = "(topic_id, sequence_number, consensus_timestamp)"
    unique = [(name, text.replace("(topic_id, sequence_number)", with_time)) for name, text in indexes]
    assert after == before | {"topic_message": [columns, unique, rights]}


def test_months_are_vacuumed_as_the_whole_table_was() -> None:
    options = "select reloptions from pg_class where oid = %s::regclass"
    with own_database(partitioned=False):
        before = query(options, "transaction")
        divide_all()

        assert query(options, names("transaction")[-1]) == before


def test_a_table_with_rows_becomes_the_first_partition_and_none_of_its_rows_or_indexes_moves(
    history: Path,
) -> None:
    file = "select relfilenode from pg_class where oid = %s::regclass"
    with own_database(partitioned=False):
        load_files(history)
        before = contents()
        tables = [query(file, table) for table in ("crypto_transfer", "crypto_transfer__consensus_timestamp")]
        divide_all()
        assert partitioned() == []
        assert remaining.names() == ["monthly_partitions"]

        assert upgrade(threading.Event())

        assert partitioned() == list(partitionable_tables())
        assert contents() == before
        first, second = names("crypto_transfer")
        assert first.startswith("crypto_transfer_p2024_06_")
        assert query(file, first) == tables[0]
        children = query(
            "select inhrelid::regclass::text from pg_inherits "
            "where inhparent = 'crypto_transfer__consensus_timestamp'::regclass"
        )
        assert tables[1] in [query(file, name) for (name,) in children]
        assert second.startswith("crypto_transfer_p20")
        assert not remaining.names()


def test_a_partitioning_stopped_after_each_step_goes_on_and_the_loader_with_it(history: Path) -> None:
    files = find_record_files([history])
    with own_database(partitioned=False):
        load_files(history)
        whole = contents()
    with own_database(partitioned=False):
        steps = 0
        for number in range(len(files)):
            Pipeline().run(files[number : number + 1])
            if number < 3:
                continue
            divide_all()
            steps += not upgrade(*stopped_after_a_step())
        assert steps > 3
        while not upgrade(*stopped_after_a_step()):
            pass

        assert partitioned() == list(partitionable_tables())
        assert contents() == whole


def upgrade(stopping: threading.Event, show: Callable[[remaining.Remaining], None] | None = None) -> bool:
    with settings(db__partitions=True):
        return runner.run(show or (lambda state: None), stopping)


def stopped_after_a_step() -> tuple[threading.Event, Callable[[remaining.Remaining], None]]:
    """What stops the upgrade when it has partitioned a table."""
    stopping, before = threading.Event(), len(partitioned())

    def show(state: remaining.Remaining) -> None:
        if len(partitioned()) > before:
            stopping.set()

    return stopping, show


INDEX = (
    "topic_message__topic_id_seqnum_time on topic_message (topic_id, sequence_number, consensus_timestamp)"
)


def build_until_interrupted() -> None:
    """Leave an index that is not valid, as its build waits for a writer."""
    writer = connection.copy()
    with writer.cursor() as cursor:
        cursor.execute("begin; lock table topic_message in row exclusive mode")
        query("set statement_timeout = '200ms'")
        with pytest.raises(OperationalError):
            query(f"create unique index concurrently {INDEX}")
    query("reset statement_timeout")
    writer.close()


@pytest.mark.parametrize("step", ["announced", "validated", "index begun", "index built"])
def test_a_partitioning_killed_after_any_of_its_steps_goes_on(step: str) -> None:
    stream = Stream(start=JULY)
    stream.happen("uncheckedSubmit")
    with own_database(partitioned=False):
        load(stream.block())
        making.announce("topic_message", JULY, month_start(JULY, 2))
        if step != "announced":
            query(f"alter table topic_message validate constraint {making.ANNOUNCEMENT}")
        if step == "index built":
            query(f"create unique index {INDEX}")
        if step == "index begun":
            build_until_interrupted()

        partition_table("topic_message")

        assert partitioned() == ["topic_message"]
        assert names("topic_message") == ["topic_message_p2024_07_2024_08", "topic_message_p2024_09"]
        assert len(query("select indexname from pg_indexes where tablename = 'topic_message'")) == 2


def test_a_loader_that_comes_to_a_later_month_is_not_held_up_by_an_unfinished_division() -> None:
    first, second = Stream(start=JULY), Stream(start=month_start(JULY, 7))
    for stream in (first, second):
        stream.happen("uncheckedSubmit")
    with own_database(partitioned=False):
        load(first.block())
        making.announce("transaction", JULY, month_start(JULY, 2))

        load_after_gap(second)

        assert making.announcements() == {}
        assert Transaction.objects.count() == 2


def load_after_gap(stream: Stream) -> None:
    with TemporaryDirectory() as folder:
        stream.block().write(Path(folder))
        Pipeline(LoadOptions(allow_gap=True)).run(find_record_files([Path(folder)]))


def test_a_view_of_a_table_is_named_and_the_table_stays_whole() -> None:
    with own_database(partitioned=False):
        query("create view of_mine as select * from transaction")

        with pytest.raises(OperatorError, match="of_mine"):
            partition_table("transaction")

        assert partitioned() == []


def test_an_index_of_a_partitioned_table_is_built_for_each_partition_and_goes_on_where_it_stopped() -> None:
    (build,) = [each for each in BACKFILLS.values() if each.name == "synthetic_index"]
    assert isinstance(build, IndexBuild)
    valid = "select indisvalid from pg_index where indexrelid = to_regclass(%s)"
    with own_database(partitioned=True):
        before = shape("contract_log")
        query(f"drop index {build.index}")
        partitioning.build_index(build.statement)
        query(f"drop index {build.index}")
        query(f"create index {build.index} on only {build.statement.partition(' ON ')[2]}")
        assert query(valid, build.index) == [(False,)]

        partitioning.build_index(build.statement)

        assert query(valid, build.index) == [(True,)]
        assert query("select count(*) from pg_inherits where inhparent = %s::regclass", build.index) == [(2,)]
        assert shape("contract_log") == before


def test_without_the_setting_nothing_is_partitioned_or_left_to_do() -> None:
    with own_database(partitioned=False):
        arrange_partitions()

        assert partitioned() == []
        assert not remaining.names()
