"""A program of the Python SDK, in a process of its own: `python sdk.py HOST:PORT TOPIC LIMIT`.

It prints a line of JSON for each message, and a last one with how the subscription ended.
"""

import datetime
import json
import sys
import threading

from hiero_sdk_python import Client, Network, TopicMessageQuery


def main(mirror: str, topic: str, limit: str) -> None:
    ended = threading.Event()
    outcome = []

    def end(how: str) -> None:
        outcome.append(how)
        ended.set()

    query = TopicMessageQuery(
        topic_id=topic,
        start_time=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        limit=int(limit),
        chunking_enabled=True,
    )
    query.set_completion_handler(lambda: end("complete"))
    query.subscribe(
        Client(Network("localhost", mirror_address=mirror)),
        lambda message: print(json.dumps([message.sequence_number, message.contents.hex()]), flush=True),
        lambda error: end(repr(error)),
    )
    ended.wait()
    print(json.dumps(outcome), flush=True)


main(*sys.argv[1:])
