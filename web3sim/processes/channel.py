"""Messages between the web server and the processes that run contract calls.

Each message is a 4-byte length and that many bytes.
"""

import socket

_LENGTH_BYTES = 4
_CHUNK_BYTES = 1 << 16


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
            if len(buffer) >= max(end, _LENGTH_BYTES):
                message = bytes(buffer[_LENGTH_BYTES:end])
                del buffer[:end]
                return message
            chunk = self._connection.recv(max(end - len(buffer), _CHUNK_BYTES))
            if not chunk:
                raise ConnectionClosed("the other side has closed the connection")
            buffer += chunk
