"""Messages between the web server and the processes that run contract calls.

Each message is a 4-byte length and that many bytes.
"""

import socket
from fractions import Fraction
from typing import Any

from mirror.core.processes.typed_json import Codec, InvalidContent, TypedJson

_LENGTH_BYTES = 4
_CHUNK_BYTES = 1 << 16
# Of a process that runs hostile code; the longest answers have a few MB.
_MAX_BYTES = 256 << 20

_Value = int | float | bool | str | tuple[str, ...] | Fraction | None
#: The settings, and the database as JSON.
START = TypedJson(
    tuple[dict[str, _Value], str],
    {Fraction: lambda json: Codec(str, lambda value: Fraction(json.codec(str).decode(value)))},
)
#: What a worker that is ready says first.
PID = TypedJson(int)


class ConnectionClosed(OSError):
    """The other side has closed the connection."""


def send(connection: socket.socket, message: bytes) -> None:
    """Errors: OSError."""
    connection.sendall(len(message).to_bytes(_LENGTH_BYTES, "big") + message)


def receive(connection: socket.socket) -> bytes:
    """Return the next message. Errors: Closed, and OSError such as TimeoutError."""
    return bytes(_recv_all(connection, int.from_bytes(_recv_all(connection, _LENGTH_BYTES), "big")))


def _recv_all(connection: socket.socket, size: int) -> bytes | bytearray:
    received = connection.recv(size)
    if len(received) == size:
        return received
    message = bytearray(received)
    while received and len(message) < size:
        received = connection.recv(size - len(message))
        message += received
    if len(message) < size:
        raise ConnectionClosed("the other side has closed the connection")
    return message


def decoded(form: TypedJson, message: bytes) -> Any:
    """Return what a worker has sent. Errors: OSError."""
    try:
        return form.decode(message)
    except InvalidContent as error:
        raise ConnectionClosed(f"a message of another form: {error}") from error


class Inbox:
    """Receives messages with few system calls; bytes beyond a message are buffered for the next one.

    When a timeout of the socket itself (SO_RCVTIMEO) passes within a message, nothing is lost.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray()

    def receive(self) -> bytes:
        """Return the next message. Errors: Closed, and OSError such as BlockingIOError."""
        buffer = self._buffer
        while True:
            end = _LENGTH_BYTES + int.from_bytes(buffer[:_LENGTH_BYTES], "big")
            if end > _MAX_BYTES:
                raise ConnectionClosed(f"a message of {end:,} bytes")
            if len(buffer) >= max(end, _LENGTH_BYTES):
                message = bytes(buffer[_LENGTH_BYTES:end])
                del buffer[:end]
                return message
            chunk = self._connection.recv(max(end - len(buffer), _CHUNK_BYTES))
            if not chunk:
                raise ConnectionClosed("the other side has closed the connection")
            buffer += chunk
