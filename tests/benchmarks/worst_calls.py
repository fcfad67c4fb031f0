"""Run 64 of the worst calls at once on a running node, then a trivial one: how soon each is answered.

    python -m tests.benchmarks.worst_calls [PORT]

A worst call hashes in a loop until its gas or its time is over.
"""

import json
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

CALLS = 64
# Of the demo network, and the most gas that a call may have.
_CONTRACT, _GAS = "0xd942176734e85f09ae8fae0c418d27fe11ac87e2", 15_000_000
# JUMPDEST; keccak256 of 4,096 bytes; POP; JUMP to the begin.
_LOOP = "0x5b61100060002050600056"
# The identity contract with one byte.
_TRIVIAL = {"to": f"0x{4:040x}", "data": "0x01"}
_WORST = {"to": _CONTRACT, "gas": _GAS, "state_overrides": [{"address": _CONTRACT, "code": _LOOP}]}


def call(port: int, body: object) -> tuple[float, int, str]:
    """Return the seconds, the status and the answer of a call."""
    began = time.monotonic()
    client = HTTPConnection("127.0.0.1", port, timeout=120)
    client.request("POST", "/api/v1/contracts/call", json.dumps(body), {"content-type": "application/json"})
    answer = client.getresponse()
    text = answer.read().decode()
    return time.monotonic() - began, answer.status, text


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    seconds, status, text = call(port, _TRIVIAL)
    print(f"trivial call before: {status} after {seconds:.2f} s: {text[:200]}")
    with ThreadPoolExecutor(CALLS) as clients:
        worst = list(clients.map(call, [port] * CALLS, [_WORST] * CALLS))
    print(f"{CALLS} worst calls: answered after {min(worst)[0]:.2f} to {max(worst)[0]:.2f} s")
    for (status, text), count in Counter((status, text[:200]) for _, status, text in worst).most_common():
        print(f"  {count} x {status}: {text}")
    for _ in range(3):
        seconds, status, text = call(port, _TRIVIAL)
        print(f"trivial call after: {status} after {seconds:.2f} s: {text[:200]}")


if __name__ == "__main__":
    main()
