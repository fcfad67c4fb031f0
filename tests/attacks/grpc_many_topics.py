"""Subscribes to 800 topics at once from several addresses, and reads nothing of their stored messages."""

import time
from contextlib import ExitStack, suppress

import psutil

from tests.attacks.attack import Outcome, Target
from tests.grpc_client import SUBSCRIBE, TopicWriter, topic_query
from tests.http2 import Http2Connection

_FIRST, _TOPICS, _MESSAGES, _BYTES = 9_800_001, 800, 100, 1_000
_STREAMS, _WARM_UP_SECONDS = 5, 2.0
# Each address has its share of 200 calls.
_ADDRESSES = [f"127.0.0.{number}" for number in range(66, 71)]
#: The memory of the server, compared with before.
_MOST_TIMES = 1.5


def attack(target: Target) -> Outcome:
    with ExitStack() as stack:
        writer = stack.enter_context(TopicWriter(target.node))
        topics = range(_FIRST, _FIRST + _TOPICS)
        for topic in topics:
            writer.add_topic(topic, _MESSAGES, _BYTES)
        process = psutil.Process(target.grpc_server())
        # What the first subscriptions of any server need is none of the attack's.
        _subscribe(stack, target, topics[:_STREAMS], _ADDRESSES[0])
        time.sleep(_WARM_UP_SECONDS)
        before = process.memory_info().rss
        for start in range(_STREAMS, _TOPICS, _STREAMS):
            address = _ADDRESSES[start // _STREAMS % len(_ADDRESSES)]
            _subscribe(stack, target, topics[start : start + _STREAMS], address)
        most = before
        until = time.monotonic() + target.seconds
        while time.monotonic() < until:
            most = max(most, process.memory_info().rss)
            time.sleep(0.1)
    times = most / before
    effect = f"{_TOPICS} subscriptions: the server has {times:.2f} times its {before >> 20} MB"
    return Outcome(times > _MOST_TIMES, effect)


def _subscribe(stack: ExitStack, target: Target, topics: range, address: str) -> None:
    connection = stack.enter_context(Http2Connection(target.grpc_port, address, 4096))
    with suppress(OSError):
        for topic in topics:
            connection.call(SUBSCRIBE, topic_query(topic))
