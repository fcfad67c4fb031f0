"""Slow requests, made so by a lock on their table while quick ones are answered."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from tests.build import Build
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.web3sim.serving import ServingNode, serving_node

__all__ = ["serving_node"]

TOPIC = 77
SLOW, QUICK = f"topics/0.0.{TOPIC}/messages", "blocks"


@pytest.fixture
def node(serving_node: ServingNode) -> ServingNode:
    Build().topic(TOPIC)
    return serving_node


@contextmanager
def messages_locked() -> Iterator[None]:
    """Let every request for messages wait until the end of the block."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("lock table topic_message in access exclusive mode")
        yield


def _sessions(condition: str) -> int:
    with connection.cursor() as cursor:
        # Within a transaction PostgreSQL shows the sessions as they were when they were first looked at.
        cursor.execute("select pg_stat_clear_snapshot()")
        cursor.execute(
            "select count(*) from pg_stat_activity where datname = current_database()"
            f" and backend_type = 'client backend' and pid <> pg_backend_pid() and {condition}"
        )
        (count,) = cursor.fetchone()
    return int(count)


def _locked() -> int:
    """Return how many statements wait for the lock."""
    return _sessions("wait_event_type = 'Lock'")


@pytest.mark.parametrize(("quick", "slow"), [(1, 1), (2, 1)])
def test_quick_requests_are_answered_while_more_slow_ones_wait_than_there_are_threads(node, quick, slow):
    # Of other tests, whose sessions may go on.
    others = _sessions("query <> ''")
    node.start(
        SVC_MIRROR_WEB_WORKERS="1",
        SVC_MIRROR_WEB_THREADS=str(quick),
        SVC_MIRROR_WEB_SLOWTHREADS=str(slow),
        # On a busy machine a quick request may take longer than 100 ms, and would wait for the lock as well.
        SVC_MIRROR_WEB_SLOWAFTER="500ms",
        SVC_MIRROR_REST_CACHE_RESPONSE_ENABLED="false",
    )
    with ThreadPoolExecutor(4) as clients:
        with messages_locked():
            slow_ones = [clients.submit(node.ask, SLOW) for _ in range(4)]
            wait_until(_locked)

            assert [node.ask(QUICK) for _ in range(20)] == [200] * 20
            assert not any(each.done() for each in slow_ones)
            # Calls run in processes of their own, which connect when they are called.
            assert _sessions("query <> ''") - others <= quick + slow

        assert [each.result(PATIENCE_SECONDS) for each in slow_ones] == [200] * 4
    assert node.ask(QUICK) == 200
