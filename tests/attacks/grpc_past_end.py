"""Subscribes to many topics, and over and over to their history before their first messages.

None of these calls gets a message. An ordinary client waits for new messages of another topic meanwhile.
"""

import threading
import time
from contextlib import ExitStack
from itertools import cycle

import psutil

from tests.attacks.attack import ATTACKER, Outcome, Target
from tests.grpc_client import SUBSCRIBE, Client, TopicWriter, topic_query
from tests.http2 import Http2Connection

_OWN, _FIRST = 9_700_000, 9_700_001
_TOPICS, _MESSAGES, _STREAMS = 150, 200, 5
_CALL_SECONDS, _MESSAGE_SECONDS = 0.01, 0.25
# Messages that each call of the attacker, and each new message, may make the server read.
_READS = 5
# A slow machine needs some.
_PATIENCE_SECONDS = 30.0


def attack(target: Target) -> Outcome:
    with ExitStack() as stack:
        writer = stack.enter_context(TopicWriter(target.node))
        for topic in range(_OWN, _FIRST + _TOPICS):
            writer.add_topic(topic, _MESSAGES)
        client = Client(target.grpc_port)
        stack.callback(client.channel.close)
        live = client.subscribe(_OWN, start=writer.time(_MESSAGES))
        live.has(1)
        attacker = stack.enter_context(_Attacker(target.grpc_port, writer.time(_MESSAGES)))
        process = psutil.Process(target.grpc_server())
        used, began, read = sum(process.cpu_times()[:2]), time.monotonic(), writer.messages_read()
        attacker.start()
        longest, number = 0.0, _MESSAGES
        while time.monotonic() < began + target.seconds:
            number += 1
            written = time.monotonic()
            writer.add(_OWN, number, number)
            while len(live.messages) <= number - _MESSAGES and time.monotonic() < written + _PATIENCE_SECONDS:
                time.sleep(0.005)
            longest = max(longest, time.monotonic() - written)
            time.sleep(_MESSAGE_SECONDS)
        share = (sum(process.cpu_times()[:2]) - used) / (time.monotonic() - began)
        read = writer.messages_read() - read
        # A slow machine may notify of one message more than once.
        bound = _READS * (attacker.calls + number) + _TOPICS * _MESSAGES // 2
        live.call.cancel()
    effect = (
        f"{attacker.calls} calls, {read} messages read, new ones came after {longest:.1f} s at most; "
        f"the server took {share:.0%} of a processor"
    )
    return Outcome(longest >= _PATIENCE_SECONDS or read > bound, effect)


class _Attacker:
    """Subscriptions of all topics that stay open, and a thread that makes the other calls."""

    def __init__(self, port: int, newest: int) -> None:
        self._port, self._stopping = port, threading.Event()
        self._open = [Http2Connection(port, ATTACKER) for _ in range(_TOPICS // _STREAMS)]
        for place in range(_TOPICS):
            self._open[place // _STREAMS].call(SUBSCRIBE, topic_query(_FIRST + place, start=newest))
        self._thread = threading.Thread(target=self._run)
        self.calls = 0

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        with Http2Connection(self._port, ATTACKER) as connection:
            for place in cycle(range(_TOPICS)):
                connection.call(SUBSCRIBE, topic_query(_FIRST + place, start=0, end=1))
                self.calls += 1
                connection.drain()
                if self._stopping.wait(_CALL_SECONDS):
                    return

    def __enter__(self) -> "_Attacker":
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self._thread.join()
        for connection in self._open:
            connection.socket.close()
