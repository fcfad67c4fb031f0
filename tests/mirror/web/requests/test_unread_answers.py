"""Answers that wait for clients which don't read them: a limit of their bytes."""

import socket
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from mirror.web.requests.unread_answers import UnreadAnswers
from tests.linux import linux_only
from tests.mirror.web.requests.test_connections import FIRST, SECOND, THIRD, Connect, connect

__all__ = ["connect"]

# What the kernel notes of connections.
pytestmark = linux_only

READER = THIRD
Unread = Callable[[str], socket.socket]


@pytest.fixture
def unread(connect: Connect) -> Unread:
    """Return a function that returns the server's end of a connection whose client reads nothing."""

    def unread(client: str) -> socket.socket:
        _, server = connect(client)
        server.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                server.send(bytes(1 << 20))
        # The kernel notes when something was sent in milliseconds.
        time.sleep(0.01)
        return server

    return unread


def _is_open(server: socket.socket) -> bool:
    try:
        server.send(b".")
    except BlockingIOError:
        return True
    except BrokenPipeError:
        return False
    return True


def test_those_of_the_client_with_most_bytes_are_closed_longest_stalled_first(unread):
    first, second = [unread(FIRST) for _ in range(4)], unread(SECOND)
    answers = UnreadAnswers(1000)
    for client, size in [(FIRST, 200)] * 4 + [(SECOND, 100), (READER, 50)]:
        answers.add(client, size)
    assert all(map(_is_open, [*first, second]))

    answers.add(FIRST, 100)

    assert [_is_open(each) for each in [*first, second]] == [False, False, True, True, True]


def test_answers_that_are_read_do_not_count(unread):
    slow, answers = unread(FIRST), UnreadAnswers(1000)
    answers.add(FIRST, 400)
    for _ in range(100):
        answers.add(READER, 400)
        answers.add(FIRST, 10)
    assert _is_open(slow)
