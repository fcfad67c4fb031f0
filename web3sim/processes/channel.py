"""Messages between the web server and the processes that run contract calls: a length, and that many bytes.

Not multiprocessing's connections, which read a message without a time limit.
"""

import socket
from typing import Any

from mirror.core.processes.typed_json import InvalidContent, TypedJson

_LENGTH_BYTES = 4
_CHUNK_BYTES = 1 << 16
# Of a process that runs hostile code; the longest answers have a few MB.
_MAX_BYTES = 256 << 20


class ConnectionClosed(OSError):
    """The other side has closed the connection, or sends what it must not."""


class Channel:
    """One side of a connection.

    When a timeout of the socket itself (SO_RCVTIMEO) passes within a message, nothing is lost.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        # Bytes beyond a message are buffered for the next one.
        self._buffer = bytearray()

    def send(self, message: bytes | bytearray) -> None:
        """Errors: OSError."""
        self.connection.sendall(len(message).to_bytes(_LENGTH_BYTES, "big") + message)

    def receive(self) -> bytes:
        """Return the next message. Errors: ConnectionClosed, and other OSErrors such as BlockingIOError."""
        buffer = self._buffer
        while True:
            end = _LENGTH_BYTES + int.from_bytes(buffer[:_LENGTH_BYTES], "big")
            if end > _MAX_BYTES:
                raise ConnectionClosed(f"a message of {end:,} bytes")
            if len(buffer) >= max(end, _LENGTH_BYTES):
                message = bytes(buffer[_LENGTH_BYTES:end])
                del buffer[:end]
                return message
            chunk = self.connection.recv(max(end - len(buffer), _CHUNK_BYTES))
            if not chunk:
                raise ConnectionClosed("the other side has closed the connection")
            buffer += chunk


def decoded(form: TypedJson, message: bytes) -> Any:
    """Return what a worker has sent. Errors: ConnectionClosed."""
    try:
        return form.decode(message)
    except InvalidContent as error:
        raise ConnectionClosed(f"a message of another form: {error}") from error
