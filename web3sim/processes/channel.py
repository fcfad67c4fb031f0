"""Messages between the web server and the processes that run contract calls.

Each message is a 4-byte length and that many bytes.
"""

import socket

_LENGTH_BYTES = 4
_PIECE_BYTES = 1 << 16


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


class Inbox:
    """Receives messages with as few calls as it can; what a call brings too much stays for the next message.

    With a timeout of the socket itself (SO_RCVTIMEO) nothing is lost when it passes within a message.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._held = bytearray()

    def receive(self) -> bytes:
        """The next message. Errors: Closed, and OSError such as BlockingIOError."""
        held = self._held
        while True:
            end = _LENGTH_BYTES + int.from_bytes(held[:_LENGTH_BYTES], "big")
            if len(held) >= max(end, _LENGTH_BYTES):
                message = bytes(held[_LENGTH_BYTES:end])
                del held[:end]
                return message
            piece = self._connection.recv(max(end - len(held), _PIECE_BYTES))
            if not piece:
                raise Closed("the other side is gone")
            held += piece
