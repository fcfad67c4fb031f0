"""Whatever a client sends: 200, 400 or 404 with the usual envelope, never a failure of ours."""

from typing import Any
from urllib.parse import quote

import pytest
from django.urls import resolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ACCOUNT = "accounts/{}"
PATHS = [
    *["accounts", ACCOUNT, "accounts/1001", "balances"],
    *[f"{ACCOUNT}/{list}" for list in ("nfts", "rewards", "tokens")],
    *[f"{ACCOUNT}/allowances/{kind}" for kind in ("crypto", "nfts", "tokens")],
    *["accounts/1001/nfts", "accounts/1001/allowances/nfts", "accounts/1001/allowances/tokens"],
    *[f"{ACCOUNT}/airdrops/outstanding", "accounts/1001/airdrops/outstanding"],
    *["accounts/1001/airdrops/pending", "accounts/1001/hooks"],
    *["accounts/1001/hooks/{}/storage", "accounts/1001/hooks/1/storage"],
    *["blocks", "blocks/{}"],
    *["contracts", "contracts/{}", "contracts/7", "contracts/results", "contracts/results/logs"],
    *["contracts/results/{}", "contracts/results/{}/actions", "contracts/results/0.0.5-1-1"],
    *["contracts/results/0.0.5-1-1/actions", "contracts/{}/results", "contracts/7/results"],
    *["contracts/results/{}/opcodes", "contracts/results/0.0.5-1-1/opcodes"],
    *["contracts/{}/results/{}", "contracts/7/results/{}", "contracts/{}/results/logs"],
    *["contracts/7/results/logs", "contracts/{}/state", "contracts/7/state", "contracts/logs"],
    *[f"network/{name}" for name in ("exchangerate", "fees", "nodes", "stake", "supply")],
    *["schedule/{}", "schedules", "schedules/{}"],
    *["tokens", "tokens/{}", "tokens/7", "tokens/7/balances", "tokens/7/nfts"],
    *["tokens/{}/nfts/{}", "tokens/7/nfts/{}", "tokens/7/nfts/1/transactions"],
    *["topics/{}", "topics/{}/messages", "topics/7/messages", "topics/{}/messages/{}", "topics/messages/{}"],
    *["transactions", "transactions/{}", "transactions/{}/stateproof", "transactions/0.0.5-1-1/stateproof"],
]
OTHER_NAMES = ["foo", "", "limit[]", "timestamp[gt]", "__proto__"]

numbers = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(
        ["0", "1", "9223372036854775807", "9223372036854775808", "274877906944", "9999999999.999999999"]
    ),
    st.floats().map(str),
)
ids = st.tuples(st.integers(0, 1100), st.integers(0, 70_000), st.integers(0, 2**39)).map(
    lambda parts: ".".join(map(str, parts))
)
words = st.sampled_from(
    [
        *["asc", "desc", "credit", "debit", "success", "fail", "true", "false", "CRYPTOTRANSFER", "null"],
        *["0x10", "0x" + "f" * 40, "%zz", "%00", "%FF", "[", "]", "&", "'", "\\", "{}"],
        "'; drop table transaction; --",
    ]
)
texts = st.one_of(numbers, ids, words, st.text(max_size=30))
values = st.one_of(
    texts, st.tuples(st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte", "", "GT"]), texts).map(":".join)
)


def queries(names):
    """Query strings, well-formed and broken; most names are those of the endpoint, so that values get far."""
    known = st.sampled_from(names or ["limit"])
    other = st.one_of(st.sampled_from(OTHER_NAMES), st.text(max_size=10))
    name = st.integers(0, 9).flatmap(lambda dice: known if dice else other)
    return st.tuples(st.lists(st.tuples(name, values), max_size=5), st.booleans()).map(
        lambda found: "&".join(
            f"{quote(name)}={quote(value, safe='')}" if found[1] else f"{name}={value}"
            for name, value in found[0]
        )
    )


parts = st.one_of(
    texts,
    st.tuples(ids, st.integers(0, 2**70), st.integers(0, 10**10)).map(
        lambda found: "-".join(map(str, found))
    ),
    *(st.binary(min_size=length, max_size=length).map(bytes.hex) for length in (20, 32, 48)),
)


@pytest.mark.parametrize("path", PATHS)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_request_fails(api, build, all_endpoints, path, data):
    found: Any = resolve(f"/api/v1/{path.replace('{}', '5')}").func
    query = data.draw(queries(list(found.cls.parameters.by_name)), "query")
    part = data.draw(parts, "part") if "{}" in path else ""
    answer = api.get(f"/api/v1/{path.replace('{}', quote(part, safe=''))}?{query}")
    assert answer.status in (200, 400, 404)
    if answer.status != 200:
        assert all(
            set(problem) <= {"message", "detail", "data"} for problem in answer.json()["_status"]["messages"]
        )
