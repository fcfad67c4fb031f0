"""HTTP/2 by hand: gRPC calls from an address of the loopback network, of clients that need not read."""

import socket
import struct
from typing import Self

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS = 0, 1, 4
_ACK, _END_STREAM, _END_HEADERS = 1, 1, 4


class Http2Connection:
    """A connection to a gRPC server, without TLS."""

    def __init__(self, port: int, source: str, receive_buffer: int = 0) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.bind((source, 0))
        self.socket.settimeout(10)
        self.socket.connect(("127.0.0.1", port))
        # A server that waits for the acknowledgement of its settings accepts few streams.
        self.socket.sendall(_PREFACE + _frame(_SETTINGS, 0, 0, b"") + _frame(_SETTINGS, _ACK, 0, b""))
        self._next_stream = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def call(self, method: str, request: bytes) -> None:
        """Send a whole request, in a new stream."""
        headers = {
            ":method": "POST",
            ":scheme": "http",
            ":path": method,
            ":authority": "127.0.0.1",
            "content-type": "application/grpc",
            "te": "trailers",
        }
        block = b"".join(map(_literal, headers, headers.values()))
        data = b"\0" + struct.pack(">I", len(request)) + request
        self.socket.sendall(
            _frame(_HEADERS, _END_HEADERS, self._next_stream, block)
            + _frame(_DATA, _END_STREAM, self._next_stream, data)
        )
        self._next_stream += 2

    def drain(self) -> bool:
        """Drop what has arrived; return whether the server has closed the connection."""
        self.socket.setblocking(False)
        try:
            while self.socket.recv(1 << 16):
                pass
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self.socket.settimeout(10)
        return True


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _literal(name: str, value: str) -> bytes:
    """Return a header that is not indexed (RFC 7541, section 6.2.2); both parts are below 127 bytes."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
