"""Messages between the web server and the processes that run contract calls: their length, then they."""

import socket

_LENGTH_BYTES = 4


class Closed(OSError):
    """The other side is gone."""


def send(connection: socket.socket, message: bytes) -> None:
    """Errors: OSError."""
    connection.sendall(len(message).to_bytes(_LENGTH_BYTES, "big") + message)


def receive(connection: socket.socket) -> bytes:
    """The next message. Errors: Closed, and OSError such as TimeoutError."""
    return bytes(_exactly(connection, int.from_bytes(_exactly(connection, _LENGTH_BYTES), "big")))


def _exactly(connection: socket.socket, size: int) -> bytes | bytearray:
    found = connection.recv(size)
    if len(found) == size:
        return found
    message = bytearray(found)
    while found and len(message) < size:
        found = connection.recv(size - len(message))
        message += found
    if len(message) < size:
        raise Closed("the other side is gone")
    return message
