"""The gateway gives requests that are expected to be slow the turns of slow ones."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from django.db import connection

from mirror.core.db.reading.sql import fetch_one
from mirror.core.db.scheduling import request_scheduler, slow_slot
from mirror.core.db.scheduling.slow_slot import SlowRequestSlot
from mirror.web.requests.gateway import Gateway
from tests.mirror.web.environment import Protocol
from tests.mirror.web.environment import environment as of_request

pytestmark = pytest.mark.usefixtures("ledger_tables")


def _counting(environment: dict[str, Any], start: Callable[..., None]) -> Iterable[bytes]:
    """Count to a million if the path says so; answer the kind of turn that this was done with."""
    fetch_one("select 1")
    if environment["PATH_INFO"].endswith("/million"):
        fetch_one("select count(*) from generate_series(1, 1000000)")
    start("200 OK", [])
    lease = request_scheduler._local.lease
    assert lease is not None
    return [b"quick" if lease.slot is None else b"slow"]


@pytest.fixture
def ask(settings_of: Callable[..., None]) -> Iterator[Callable[..., bytes]]:
    """Ask the application by a gateway, and return the kind of turn that it had."""
    settings_of({"web.threads": 1})
    gateway = Gateway(_counting, [SlowRequestSlot(slow_slot.create_files())])

    def ask(path: str, query: str = "") -> bytes:
        protocol = Protocol()
        gateway(protocol, of_request(path, query))
        return protocol.answer()[2]

    # The times of a connection count from its second use.
    ask("/api/v1/blocks/one")
    yield ask
    for slow in (False, True):
        gateway.scheduler.submit(lambda: connection.close(), slow=slow)


def test_a_request_like_one_that_took_long_gets_the_turn_of_a_slow_one(ask):
    assert ask("/api/v1/blocks/million", "account.id=0.0.5") == b"quick"
    # A request has the turn of another one once that has ended.
    assert ask("/api/v1/blocks/one", "account.id=0.0.6") == b"quick"

    assert ask("/api/v1/blocks/million", "account.id=0.0.6") == b"slow"
    assert ask("/api/v1/blocks/million") == b"quick"


def test_pages_for_people_are_always_begun_as_quick_ones(ask):
    assert [ask(f"/admin/{page}") for page in ("million", "one", "million")] == [b"quick"] * 3
