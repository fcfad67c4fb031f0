"""The bodies of requests: read in time, or not at all."""

import io
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from mirror.web.requests import bodies
from mirror.web.requests.bodies import Readers
from tests.linux import linux_only
from tests.mirror.web.requests.test_connections import FIRST, SECOND, Connect, are_open, connect, is_answered
from tests.waiting import wait_until

__all__ = ["connect"]

LARGEST = 1024


@pytest.fixture(autouse=True)
def small(settings_of) -> None:
    settings_of({"rest.request.maxBodySize": LARGEST >> 10})


def _request(body: Any, **headers: str) -> dict[str, Any]:
    return {"wsgi.input": body, "REMOTE_ADDR": FIRST, **headers}


@pytest.mark.parametrize(
    ("headers", "sent", "read"),
    [
        pytest.param({}, b"unannounced", b"", id="without a length"),
        pytest.param({"CONTENT_LENGTH": "4"}, b"bodyrest", b"body", id="with a length"),
        pytest.param({"CONTENT_LENGTH": "1025"}, bytes(1025), b"", id="too large, unread"),
        pytest.param({"CONTENT_LENGTH": "-4"}, b"body", b"", id="with a length that is no number"),
        pytest.param({"HTTP_TRANSFER_ENCODING": "chunked"}, b"body", b"body", id="in chunks"),
        pytest.param(
            {"HTTP_TRANSFER_ENCODING": "chunked"}, bytes(5000), bytes(1025), id="in chunks, one byte too many"
        ),
    ],
)
def test_as_much_of_a_body_is_read_as_its_request_announces(headers, sent, read):
    stream = io.BytesIO(sent)
    assert Readers(1.0).read(_request(stream, **headers)).read() == read
    assert stream.tell() == len(read)


class _Broken:
    """A body whose client disconnects."""

    def read(self, size: int) -> bytes:
        raise ConnectionResetError


@pytest.mark.parametrize("method", ["read", "readline"])
def test_a_body_that_breaks_off_is_an_error_for_its_reader(method):
    readers = Readers(1.0)
    for _ in range(bodies.MAX_READERS + 1):
        body = readers.read(_request(_Broken(), CONTENT_LENGTH="4"))
        with pytest.raises(ConnectionResetError):
            getattr(body, method)()


@pytest.fixture
def waiting() -> Iterator[tuple[socket.socket, Any]]:
    """Yield a client's end, and a body that comes by it."""
    client, server = socket.socketpair()
    with client, server, server.makefile("rb") as body:
        yield client, body


@pytest.mark.usefixtures("small")
def test_bodies_beyond_those_that_are_waited_for_are_refused_until_one_has_come(monkeypatch, waiting):
    monkeypatch.setattr(bodies, "MAX_READERS", 1)
    (client, body), readers, came = waiting, Readers(3600.0), []
    thread = threading.Thread(target=lambda: came.append(readers.read(_request(body, CONTENT_LENGTH="4"))))
    thread.start()
    wait_until(lambda: readers._reading)

    with pytest.raises(TimeoutError):
        readers.read(_request(io.BytesIO(b"late"), CONTENT_LENGTH="4")).read()

    client.sendall(b"body")
    thread.join()
    assert came[0].read() == b"body"
    assert readers.read(_request(io.BytesIO(b"late"), CONTENT_LENGTH="4")).read() == b"late"


@linux_only
@pytest.mark.parametrize(("seconds", "stays"), [(0.0, False), (3600.0, True)])
def test_connections_of_a_client_whose_body_is_late_are_closed(
    connect: Connect, caplog: pytest.LogCaptureFixture, seconds: float, stays: bool
) -> None:
    (client, server), other = connect(FIRST), is_answered(connect(SECOND))
    readers = Readers(seconds)

    def read() -> None:
        with server.makefile("rb") as body, suppress(OSError):
            readers.read(_request(body, CONTENT_LENGTH="4"))

    thread = threading.Thread(target=read)
    thread.start()
    wait_until(lambda: readers._reading)
    readers.check()

    assert are_open((client, server), other) == [stays, True]
    assert ("body_took_too_long" in caplog.text) is not stays
    if stays:
        client.setblocking(True)
        client.sendall(b"body")
    thread.join()
    # One that has come is no longer late.
    assert not readers._reading
