"""The connections of clients: by which a request may have come, and which are closed."""

import math
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from mirror.web.requests import connections
from mirror.web.requests.connections import Connection, ConnectionLimits, Headers, candidate_ports
from tests.linux import linux_only

ARRIVED = 1000.0
# It had been open for a while.
OWN = Connection("192.0.2.1", 5001, 0, ARRIVED - 30, ARRIVED - 0.001)


def _is_among(own: Connection) -> bool:
    """Return whether its own connection is seen beside one that came at the same time."""
    other = Connection("192.0.2.1", 5000, 0, ARRIVED - 60, ARRIVED)
    return own.port in candidate_ports([other, own], ARRIVED)


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(OWN, id="received just before"),
        pytest.param(OWN._replace(received=ARRIVED - 0.2), id="taken over late by a busy process"),
        pytest.param(
            OWN._replace(received=ARRIVED - 5, sent=ARRIVED - 0.001),
            id="before the last answer",
        ),
        pytest.param(OWN._replace(received=ARRIVED + 0.2), id="further requests have followed"),
    ],
)
def test_a_request_may_have_come_by_a_connection(own):
    assert _is_among(own)


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(OWN._replace(received=ARRIVED - 20), id="rests"),
        pytest.param(OWN._replace(sent=ARRIVED + 0.3, received=ARRIVED + 0.3), id="opened later"),
        pytest.param(OWN._replace(sent=ARRIVED + 0.3), id="answered since"),
    ],
)
def test_a_request_came_by_another_connection(own):
    assert not _is_among(own)


FIRST, SECOND, THIRD = "127.0.0.2", "127.0.0.3", "127.0.0.4"
Ends = tuple[socket.socket, socket.socket]
Connect = Callable[[str], Ends]


@pytest.fixture
def connect(settings_of) -> Iterator[Connect]:
    """Yield a function that returns both ends of a connection: the client's, and the web server's."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        settings_of({"web.port": listening.getsockname()[1]})

        def connect(client: str) -> Ends:
            own = socket.create_connection(listening.getsockname(), source_address=(client, 0))
            return stack.enter_context(own), stack.enter_context(listening.accept()[0])

        yield connect


def never_sends(ends: Ends) -> Ends:
    return ends


def waits(ends: Ends) -> Ends:
    """Send something that is not answered."""
    client, server = ends
    client.sendall(b"GET")
    server.recv(3)
    return ends


def is_answered(ends: Ends) -> Ends:
    client, server = waits(ends)
    # The kernel notes the times in milliseconds.
    time.sleep(0.01)
    server.sendall(b"200")
    client.recv(3)
    return ends


def begins_again(ends: Ends) -> Ends:
    is_answered(ends)
    time.sleep(0.01)
    return waits(ends)


def are_open(*opened: Ends) -> list[bool]:
    """Return which connections the server has not closed."""
    found = []
    for client, _ in opened:
        client.setblocking(False)
        try:
            found.append(client.recv(1) != b"")
        except BlockingIOError:
            found.append(True)
    return found


LONG_AGO = -1e6


@linux_only
@pytest.mark.parametrize(
    ("act", "arrived", "stays"),
    [
        pytest.param(never_sends, None, False, id="never sends"),
        pytest.param(waits, None, False, id="begins a request"),
        pytest.param(begins_again, None, False, id="begins a second request"),
        pytest.param(is_answered, None, True, id="rests between two requests"),
        pytest.param(waits, LONG_AGO, False, id="begins one while another connection waits for an answer"),
        pytest.param(waits, math.inf, True, id="may have sent the request that is worked on"),
    ],
)
def test_connections_whose_headers_are_late_are_closed(connect, act, arrived, stays):
    opened, other = act(connect(FIRST)), is_answered(connect(SECOND))
    Headers(0.0, lambda _: arrived).check()
    assert are_open(opened, other) == [stays, True]


@linux_only
def test_headers_are_late_after_their_time_only(connect):
    opened = [never_sends(connect(FIRST)), waits(connect(FIRST))]
    headers = Headers(3600.0, lambda _: None)
    for _ in range(2):
        assert headers.check() >= 3600.0 / connections._CHECKS
    assert are_open(*opened) == [True, True]


@linux_only
def test_a_client_has_so_many_connections_and_the_longest_idle_are_closed(connect, settings_of):
    settings_of({"web.maxConnectionsPerClient": 3})
    acts = [waits, is_answered, never_sends, is_answered, never_sends]
    of_first = [act(connect(FIRST)) for act in acts]
    others = [never_sends(connect(SECOND)) for _ in range(3)]

    ConnectionLimits(100).check()

    assert are_open(*of_first, *others) == [True, False, False, True, True, True, True, True]


@linux_only
def test_a_client_has_half_of_the_connections_and_requests_end_once_none_is_idle(connect):
    opened = [waits(connect(FIRST)) for _ in range(3)]
    time.sleep(0.01)
    opened.append(waits(connect(FIRST)))
    ConnectionLimits(4).check()
    assert are_open(*opened).count(True) == 2
    assert are_open(opened[-1]) == [True]


@linux_only
def test_a_trusted_proxy_has_any_number_of_connections(connect, settings_of):
    settings_of({"web.maxConnectionsPerClient": 1, "web.trustedProxies": (FIRST,)})
    opened = [never_sends(connect(FIRST)) for _ in range(3)]
    ConnectionLimits(100).check()
    assert are_open(*opened) == [True] * 3


@linux_only
def test_before_all_connections_are_taken_the_longest_idle_are_closed(connect):
    busy = waits(connect(FIRST))
    idle = [act(connect(client)) for act in (is_answered, never_sends) for client in (SECOND, THIRD)]
    time.sleep(0.01)
    recent = is_answered(connect(FIRST))

    # Seven eighths of 7 are 6, of 6 they are 5; three quarters of 6 are 4.
    ConnectionLimits(7).check()
    assert are_open(busy, *idle, recent) == [True] * 6
    ConnectionLimits(6).check()
    assert are_open(busy, *idle, recent) == [True, False, False, True, True, True]


def test_a_check_takes_at_most_a_twentieth_of_the_time():
    assert connections.pause(0.1, time.thread_time() - 1) >= 20
    assert connections.pause(3600, time.thread_time()) == 3600
