"""The web server has HTTP/1.1 alone: a client can leave one answer of a connection unread, not any number."""

import socket

import pytest

from tests.waiting import PATIENCE_SECONDS
from tests.web3sim.serving import serving_node

__all__ = ["serving_node"]

REQUEST = b"GET /health/liveness HTTP/1.1\r\nHost: node\r\n"
UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAAAA\r\n"


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        pytest.param(
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]), b"", id="begun"
        ),
        pytest.param(REQUEST + UPGRADE + b"\r\n", b"HTTP/1.1 200 OK", id="offered"),
    ],
)
def test_http_2_is_not_spoken(serving_node, sent, answer):
    serving_node.start()
    with socket.create_connection(("127.0.0.1", serving_node.port), PATIENCE_SECONDS) as client:
        client.sendall(sent)
        assert client.recv(4096).partition(b"\r\n")[0] == answer
