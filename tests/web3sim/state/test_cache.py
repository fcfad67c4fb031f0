import pytest

from web3sim.state.cache import ABSENT, Caches, ExpiringCache


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_value_is_cached_for_its_seconds(clock):
    kept: ExpiringCache[str, int | None] = ExpiringCache(2, 10, clock=clock)
    kept.put("a", None)
    clock.now += 1.9
    assert kept.get("a") is None
    clock.now += 0.1
    assert kept.get("a") is ABSENT


def test_a_value_may_live_from_its_last_use(clock):
    kept: ExpiringCache[str, int | None] = ExpiringCache(2, 10, by_access=True, clock=clock)
    kept.put("a", 1)
    for _ in range(3):
        clock.now += 1.9
        assert kept.get("a") == 1
    clock.now += 2
    assert kept.get("a") is ABSENT


def test_what_was_not_used_for_longest_makes_room(clock):
    kept: ExpiringCache[str, int | None] = ExpiringCache(2, 2, clock=clock)
    kept.put("a", 1)
    kept.put("b", 2)
    kept.get("a")
    kept.put("c", 3)
    assert [kept.get(key) for key in "abc"] == [1, ABSENT, 3]


def test_zero_seconds_cache_nothing(clock):
    kept: ExpiringCache[str, int | None] = ExpiringCache(0, 2, clock=clock)
    kept.put("a", 1)
    assert kept.get("a") is ABSENT


def test_each_kind_has_its_own_time(clock):
    caches = Caches(clock)
    lives = {"code": 3600, "slots": 2, "used_slots": 300, "entities": 1, "tokens": 1, "blocks": 0.5}
    for name, seconds in lives.items():
        getattr(caches, name).put("key", name)
        clock.now += seconds - 0.25
        assert getattr(caches, name).get("key") == name
        clock.now += seconds
        assert getattr(caches, name).get("key") is ABSENT
