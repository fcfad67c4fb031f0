import secrets
import time

import pytest

from mirror.core.rest.cache.memory import MemoryCache
from mirror.core.rest.cache.responses import CachedResponse

KEPT = CachedResponse({"etag": '"1"'}, b"body", False, 0)


def memory() -> MemoryCache:
    return MemoryCache(secrets.token_hex(8), {"OPTIONS": {"MAX_BYTES": 10_000}})


def test_an_answer_lives_for_its_seconds(monkeypatch: pytest.MonkeyPatch):
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    cache = memory()
    cache.set("a", KEPT, 10)
    now += 9.5
    assert cache.get("a") is KEPT
    now += 0.5
    assert cache.get("a") is None
    assert cache.get("a", "nothing") == "nothing"


def test_memory_holds_what_was_asked_for_last():
    cache = memory()
    for key in "abcd":
        cache.set(key, KEPT._replace(body=bytes(1_000)), 10)
    assert cache.get("a")
    cache.set("e", KEPT._replace(body=bytes(1_000)), 10)
    assert [key for key in "abcde" if cache.get(key)] == ["a", "c", "d", "e"]


def test_an_answer_that_is_larger_than_all_memory_is_not_kept():
    cache = memory()
    cache.set("a", KEPT, 10)
    cache.set("b", KEPT._replace(body=bytes(10_000)), 10)
    assert cache.get("a") and cache.get("b") is None


def test_an_answer_that_is_kept_anew_takes_the_place_of_the_old_one():
    cache = memory()
    for _ in range(100):
        cache.set("a", KEPT, 10)
    cache.set("b", KEPT._replace(body=bytes(5_000)), 10)
    assert cache.get("a") and cache.get("b")
    cache.clear()
    assert cache.get("a") is None
