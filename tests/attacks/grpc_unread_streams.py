"""Opens 200 connections with five subscriptions each to a long topic, and reads nothing.

The server has places for so many. An ordinary client, of another address, subscribes meanwhile.
"""

import time
from contextlib import ExitStack, suppress

import psutil

from tests.attacks.attack import ATTACKER, Outcome, Target
from tests.grpc_client import SUBSCRIBE, Client, TopicWriter, topic_query
from tests.http2 import Http2Connection

_TOPIC, _MESSAGES = 9_600_001, 2_000
_CONNECTIONS, _STREAMS = 200, 5
_ATTEMPTS = 5


def attack(target: Target) -> Outcome:
    with ExitStack() as stack:
        writer = stack.enter_context(TopicWriter(target.node))
        writer.add_topic(_TOPIC, _MESSAGES)
        process = psutil.Process(target.grpc_server())
        before = process.memory_info().rss
        for _ in range(_CONNECTIONS):
            connection = stack.enter_context(Http2Connection(target.grpc_port, ATTACKER, 4096))
            with suppress(OSError):
                for _ in range(_STREAMS):
                    connection.call(SUBSCRIBE, topic_query(_TOPIC))
        client = Client(target.grpc_port)
        stack.callback(client.channel.close)
        statuses: list[tuple[str, str]] = []
        until = time.monotonic() + target.seconds
        # While the server accepts the attacker's calls, it may have a place for others.
        while time.monotonic() < until or len(statuses) < _ATTEMPTS:
            statuses.append(client.subscribe(_TOPIC, limit=1).ended())
            time.sleep(0.2)
        grown = process.memory_info().rss - before
    admitted = sum(status == ("OK", "") for status in statuses)
    effect = (
        f"{admitted} of {len(statuses)} ordinary subscriptions were admitted; "
        f"the server grew by {grown >> 20} MB from {before >> 20} MB"
    )
    return Outcome(statuses[-1] != ("OK", ""), effect)
