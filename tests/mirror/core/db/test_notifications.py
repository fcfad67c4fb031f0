"""Notifications of commits: of the loader's, and what waits for them."""

import threading

import psycopg
import pytest
from django.db import connection

from mirror.core.db import notifications
from mirror.core.db.notifications import CommitListener
from tests.ledger.compose import Stream
from tests.ledger.ingest.load import load
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.usefixtures("ledger_tables")


@pytest.fixture
def listener():
    listener = CommitListener()
    # The first call only begins to listen.
    listener.wait(0)
    yield listener
    listener.close()


def woken(listener: CommitListener) -> threading.Event:
    """Return an event that is set once the listener has been notified."""
    done = threading.Event()

    def wait() -> None:
        listener.wait(PATIENCE_SECONDS)
        done.set()

    threading.Thread(target=wait, daemon=True).start()
    return done


def test_a_loaded_file_ends_the_wait(listener: CommitListener) -> None:
    done = woken(listener)
    stream = Stream()
    stream.create(1001)

    load(stream.block())

    assert done.wait(PATIENCE_SECONDS)


def test_what_is_rolled_back_is_not_notified(listener: CommitListener) -> None:
    done = woken(listener)
    with connection.cursor() as cursor:
        cursor.execute("begin")
        notifications.notify(cursor)
        cursor.execute("rollback")
        assert not done.wait(0.2)
        notifications.notify(cursor)

    assert done.wait(PATIENCE_SECONDS)


def test_a_listener_without_notifications_waits_for_its_time(listener: CommitListener) -> None:
    listener.wait(0.01)


def test_a_lost_connection_is_made_again(listener: CommitListener) -> None:
    pid = listener._wrapper.connection.info.backend_pid
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("select pg_terminate_backend(%s)", (pid,))

    def is_lost() -> bool:
        listener.wait(0.01)
        return listener._wrapper is None

    wait_until(is_lost)
    listener._retry_at = 0.0

    listener.wait(0)

    done = woken(listener)
    with connection.cursor() as cursor:
        notifications.notify(cursor)
    assert done.wait(PATIENCE_SECONDS)
