"""Connections that stay open between requests."""

import socket

from mirror.core import config
from tests.waiting import PATIENCE_SECONDS
from tests.web3sim.serving import serving_node

__all__ = ["serving_node"]

REQUEST = b"GET /health/liveness HTTP/1.1\r\nHost: node\r\n\r\n"


def test_a_connection_without_a_request_is_closed_after_the_time_of_the_setting(serving_node):
    serving_node.start(SVC_MIRROR_REST_RESPONSE_KEEPALIVETIMEOUT="1s")
    with socket.create_connection(("127.0.0.1", serving_node.port), PATIENCE_SECONDS) as client:
        for _ in range(3):
            client.sendall(REQUEST)
            answer = b""
            while not answer.endswith(b'{"status":"ok"}'):
                answer += client.recv(4096)
            assert answer.startswith(b"HTTP/1.1 200")
        assert client.recv(4096) == b""


def test_connections_are_kept_for_longer_than_load_balancers_keep_them():
    assert config.load({})["rest.response.keepAliveTimeout"] > 600
