"""Random code and broken requests: each is answered, by nothing worse than a refusal, and nothing piles up.

`MIRROR_TEST_CALLS` says how many (400 without it), `MIRROR_TEST_CALLS_FROM` the first seed.
"""

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from mirror.core.rest.limits import redis_buckets
from tests.api import Answer, Api
from tests.build import Build
from tests.node import children
from tests.web3sim.engine.programs import Writer, call_data, mutated, nonsense
from tests.web3sim.rows import ANSWERS, CALLER, contract, hex_address, network
from web3sim.api import call
from web3sim.processes import pool as workers

CALLS = int(os.environ.get("MIRROR_TEST_CALLS", "400"))
FIRST = int(os.environ.get("MIRROR_TEST_CALLS_FROM", "0"))
STORED = 40
URL = "/api/v1/contracts/call"

# What a client can be told; 501 and 503 by name and by time.
ALLOWED = {200, 400, 413, 415, 429, 501, 503}
_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1.5, 2**63 - 1, 2**63, 10**30, "", " ", "0x", "0x0", "null", "latest"),
    *(
        [],
        {},
        [[]],
        {"to": {}},
        "\x00",
        "\ud800",
        "é",
        "0x" + "f" * 64,
        "9" * 400,
        "earliest",
        "0x7",
        -(2**63),
    ),
)


@pytest.fixture(scope="module", autouse=True)
def _processes() -> Iterator[None]:
    yield
    workers.stop()


@pytest.fixture
def client(ledger_tables: None, settings_of, settings, tmp_path) -> Api:
    settings.DATA_DIR = tmp_path
    settings_of({"web3.throttle.requestsPerSecond": 10**9, "web3.throttle.gasUnit": 10**9})
    redis_buckets.process_buckets.cache_clear()
    call._filters.cache_clear()
    build = Build()
    network(build)
    contract(build, 5300, ANSWERS)
    for number in range(STORED):
        contract(build, 5301 + number, _program(random.Random(FIRST + number)), balance=number)
    return Api()


def _program(choose: random.Random) -> bytes:
    kind = choose.random()
    if kind < 0.6:
        return Writer(choose).code()
    return mutated(choose) if kind < 0.9 else nonsense(choose)


def _members(choose: random.Random) -> dict[str, Any]:
    """A request that makes sense: of a stored program, or of a new one as code that creates a contract."""
    creates = choose.random() < 0.6
    given: dict[str, Any] = {
        "data": (_program(choose) if creates else call_data(choose)).hex(),
        "gas": choose.choice((21_000, 60_000, 200_000, 1_000_000, 1_000_000, 3_000_000)),
    }
    if not creates:
        given["to"] = hex_address(
            choose.choice((5300, 5301 + choose.randrange(STORED), choose.randrange(1100)))
        )
    if choose.random() < 0.3:
        given["from"] = hex_address(choose.choice((CALLER, 5300, 2, 9)))
        given["value"] = choose.choice((0, 1, 10**18))
    if choose.random() < 0.1:
        given["estimate"] = True
    if choose.random() < 0.2:
        given["block"] = choose.choice(("latest", "earliest", "7", "0x7", "8", 7))
    return given


def _request(choose: random.Random) -> tuple[bytes, str]:
    """The body and its content type."""
    given = _members(choose)
    kind = choose.random()
    if kind < 0.7:
        return json.dumps(given).encode(), "application/json"
    for _ in range(choose.randrange(1, 4)):
        name = choose.choice(["block", "data", "estimate", "from", "gas", "gasPrice", "to", "value", "x"])
        given[name] = choose.choice(_ODD)
    body = bytearray(json.dumps(given, ensure_ascii=choose.random() < 0.5).encode("utf-8", "surrogatepass"))
    if kind > 0.85:
        for _ in range(choose.randrange(1, 5)):
            at, how = choose.randrange(len(body)), choose.random()
            if how < 0.5:
                body[at] = choose.choice((choose.randrange(256), *b'{}[]",:0-e\\'))
            elif how < 0.75:
                del body[at : at + choose.choice((1, 1, 30))]
            else:
                body[at:at] = body[at : at + 40] * choose.choice((1, 1, 50))
            body = body or bytearray(b"{")
    content_type = (
        "application/json" if choose.random() < 0.98 else choose.choice(("", "text/plain", "\xff/\x00"))
    )
    return bytes(body), content_type


def _resident() -> dict[str, int]:
    """Megabytes of this process, and of the largest that runs calls."""
    first = workers.pool()._starter._process
    own = _megabytes(os.getpid())
    if first is None:
        return {"web": own, "calls": 0}
    return {"web": own, "calls": max(map(_megabytes, children(first.pid)), default=0)}


def _megabytes(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss) >> 20
    except psutil.Error:
        return 0


def test_nothing_worse_than_a_refusal_comes_of_any_request(client, caplog):
    told: Counter[int] = Counter()
    before: dict[str, int] = {}
    for seed in range(FIRST, FIRST + CALLS):
        body, content_type = _request(random.Random(seed))
        answer: Answer = client.request("POST", URL, body, content_type=content_type)
        assert answer.status in ALLOWED, (seed, body, answer)
        told[answer.status] += 1
        if seed == FIRST + CALLS // 4:
            before = _resident()
    after = _resident()
    print(f"\n{dict(told)}; MB {before} -> {after}")
    assert "unexpected_error" not in caplog.text
    assert told[503] <= CALLS // 100
    assert told[200] and told[400]
    # Nothing is lost for good.
    answer = client.request(
        "POST", URL, json.dumps({"to": hex_address(5300)}).encode(), content_type="application/json"
    )
    assert answer.json() == {"result": f"0x{42:064x}"}
    for name, megabytes in before.items():
        assert after[name] <= megabytes + 64, (name, before, after)
