"""Reading from a replica and its primary, both real: which one is asked, and that time never goes back."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
import pytest_django
from django.db import connections

from mirror.core.db.availability import outage
from mirror.core.db.reading import sql
from mirror.core.db.replicas import block_requirement
from mirror.core.db.replicas.block_requirement import BlockNotAvailable
from mirror.core.db.replicas.reading import Reader
from mirror.core.db.replicas.shared_state import State
from tests.replicated import PRIMARY, REPLICA, Replicated
from tests.waiting import PATIENCE_SECONDS, wait_until

IS_REPLICA = "select pg_is_in_recovery()"
# A statement that a replica cancels, as it would if it had to replay the removal of what is read.
MAKE_CONFLICT = """
    create or replace function read_on_primary() returns text language plpgsql as $$
        begin
            if pg_is_in_recovery() then
                raise exception using errcode = '40001', message = 'conflict with recovery';
            end if;
            return 'the primary';
        end $$"""


@pytest.fixture
def reader(replicated: Replicated, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[Reader]:
    """Read from the replica, which has all blocks, within a request of its own."""
    replicated.add_block(replicated.last_block(replicated.primary) + 1)
    replicated.catch_up()
    with django_db_blocker.unblock(), replicated.reading() as reader:
        block_requirement.begin()
        yield reader
        block_requirement.end()
    replicated.catch_up()


def asked_replica() -> bool:
    return sql.fetch(IS_REPLICA) == [(True,)]


def test_a_statement_reads_from_the_replica(reader: Reader) -> None:
    assert asked_replica()
    assert connections["default"].connection is None


def test_values_rows_and_names_come_as_from_one_database(reader: Reader) -> None:
    statement = "select %(number)s + 1, %(text)s::text, %(nothing)s::bigint from generate_series(1, 2)"
    for nothing in (None, 5, None):
        rows = sql.fetch(statement, {"number": 6, "text": "six", "nothing": nothing})
        assert rows == [(7, "six", nothing)] * 2
    assert sql.fetch("select 1 where false") == []


def test_an_error_of_the_statement_is_an_error(reader: Reader) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        sql.fetch("select 1 / %s", (0,))
    assert asked_replica()


def test_a_request_knows_the_newest_block_it_has_read(reader: Reader, replicated: Replicated) -> None:
    asked_replica()
    assert block_requirement.current().newest == replicated.last_block(replicated.replica)


def test_what_another_process_has_answered_from_is_read_at_least(
    reader: Reader, replicated: Replicated
) -> None:
    replicated.hold()
    last = replicated.last_block(replicated.replica)
    replicated.add_block(last + 1)
    assert asked_replica()
    reader.scoreboard.record_answered(last + 1)
    assert not asked_replica()
    assert block_requirement.current().newest == last + 1
    replicated.catch_up()
    # As the watcher does.
    reader.scoreboard.set_block(REPLICA, last + 1)
    assert asked_replica()


def test_a_request_reads_no_older_block_than_it_began_with(reader: Reader, replicated: Replicated) -> None:
    replicated.hold()
    last = replicated.last_block(replicated.replica)
    replicated.add_block(last + 1)
    block_requirement.begin(last + 1)
    assert not asked_replica()


def test_lost_blocks_are_not_taken_for_read(reader: Reader, replicated: Replicated) -> None:
    asked_replica()
    last = replicated.last_block(replicated.replica)
    assert block_requirement.newest_read() == last
    reader.scoreboard.reset_answered(last - 1)
    assert block_requirement.newest_read() == last - 1


def test_a_block_that_nobody_has_is_waited_for_and_then_refused(
    reader: Reader, replicated: Replicated, settings_of
) -> None:
    settings_of({"db.readPatience": 0.0})
    last = replicated.last_block(replicated.primary)
    block_requirement.begin(last + 5)
    with pytest.raises(
        BlockNotAvailable, match=f"Block {last + 5} is not loaded here yet: the last one is {last}"
    ):
        asked_replica()


def test_a_conflict_with_recovery_is_tried_again_and_then_asked_of_the_primary(
    reader: Reader, replicated: Replicated
) -> None:
    replicated.on(replicated.primary, MAKE_CONFLICT)
    replicated.catch_up()
    assert sql.fetch("select read_on_primary()") == [("the primary",)]
    assert reader.scoreboard.state(REPLICA) != State.AWAY
    assert asked_replica()


def test_a_conflict_without_a_primary_is_an_error(reader: Reader, replicated: Replicated) -> None:
    replicated.on(replicated.primary, MAKE_CONFLICT)
    replicated.catch_up()
    asked_replica()
    settings = dict(reader.servers[PRIMARY].settings)
    reader.servers[PRIMARY] = reader._primary = reader.servers[PRIMARY]._replace(
        settings=settings | {"HOST": "/nowhere"}
    )
    with pytest.raises(psycopg.OperationalError, match="conflict with recovery") as raised:
        sql.fetch("select read_on_primary()")
    assert outage.is_outage(raised.value)


def test_a_session_that_is_ended_is_replaced(reader: Reader, replicated: Replicated) -> None:
    assert asked_replica()
    others = "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend'"
    replicated.on(replicated.replica, f"{others} and pid <> pg_backend_pid()")
    assert asked_replica()


def test_the_primary_is_asked_while_the_replica_is_down_and_the_replica_once_it_is_well(
    reader: Reader, replicated: Replicated
) -> None:
    assert asked_replica()
    replicated.replica.stop()
    assert not asked_replica()
    assert reader.scoreboard.state(REPLICA) == State.AWAY
    # Only the watcher says so.
    assert not reader.scoreboard.is_unavailable(REPLICA)
    replicated.restart()
    assert not asked_replica()
    reader.scoreboard.set_state(REPLICA, State.WELL)
    assert asked_replica()


def test_a_replica_that_is_too_far_behind_is_asked_if_nobody_else_is_left(
    reader: Reader, replicated: Replicated
) -> None:
    reader.scoreboard.set_state(REPLICA, State.BEHIND)
    assert not asked_replica()
    reader.scoreboard.set_state(PRIMARY, State.AWAY)
    assert asked_replica()


def test_nobody_ever_goes_back_in_time_whatever_happens_to_the_servers(
    reader: Reader, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    settings_of({"db.readPatience": PATIENCE_SECONDS})
    seen, ended = [0], threading.Event()

    def read_on() -> int:
        """Return how many answers were older than one that somebody had before."""
        back = 0
        while not ended.is_set():
            before = seen[0]
            block_requirement.begin()
            ((block,),) = sql.fetch("select max(index) from record_file")
            block_requirement.end()
            back += block < before
            seen[0] = max(seen[0], block)
        own: Any = connections["default"]
        for session in own.sessions.values():
            session.close()
        return back

    def add(blocks: int) -> None:
        last = replicated.last_block(replicated.primary)
        for number in range(last + 1, last + 1 + blocks):
            replicated.add_block(number)
        # As if another process had answered from the last one.
        reader.scoreboard.record_answered(last + blocks)
        wait_until(lambda: seen[0] >= last + blocks or any(each.done() for each in readers))

    with ThreadPoolExecutor(3) as threads:
        readers = [threads.submit(read_on) for _ in range(3)]
        try:
            add(5)
            replicated.hold()
            add(5)
            replicated.catch_up()
            add(5)
            replicated.replica.stop()
            add(5)
            replicated.restart()
            reader.scoreboard.set_state(REPLICA, State.WELL)
            add(5)
        finally:
            ended.set()
    assert [each.result() for each in readers] == [0, 0, 0]
