import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.rest.answers.stores import Circuit, Kept, MemoryStore, RedisStore, pack, unpack

KEPT = Kept({"etag": '"1"'}, b"body", False)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_an_answer_lives_for_its_seconds():
    clock = Clock()
    store = MemoryStore(10_000, clock)
    store.put("a", KEPT, 10)
    clock.now += 9.5
    assert store.get("a") == (KEPT, 0.5)
    clock.now += 0.5
    assert store.get("a") is None


def test_memory_holds_what_was_asked_for_last():
    store = MemoryStore(10_000)
    large = Kept({}, bytes(1_000), False)
    for key in "abcd":
        store.put(key, large, 10)
    assert store.get("a")
    store.put("e", large, 10)
    assert [key for key in "abcde" if store.get(key)] == ["a", "c", "d", "e"]


def test_an_answer_that_is_larger_than_all_memory_is_not_kept():
    store = MemoryStore(10_000)
    store.put("a", KEPT, 10)
    store.put("b", Kept({}, bytes(10_000), False), 10)
    assert store.get("a") and store.get("b") is None


def test_an_answer_that_is_kept_anew_takes_the_place_of_the_old_one():
    store = MemoryStore(10_000)
    for _ in range(100):
        store.put("a", KEPT, 10)
    store.put("b", Kept({}, bytes(5_000), False), 10)
    assert store.get("a") and store.get("b")


@given(
    headers=st.dictionaries(st.text(), st.text()),
    body=st.binary(),
    gzipped=st.booleans(),
    expires=st.floats(0, 1e11),
)
def test_what_is_packed_is_unpacked(headers, body, gzipped, expires):
    kept = Kept(headers, body, gzipped)
    assert unpack(pack(kept, expires)) == (kept, expires)


@pytest.mark.parametrize("data", [None, 5, "text", b"", b"\x00LM1", b"\x00LM1\x00\x00\x00\x02[]"])
def test_what_is_no_answer_is_not_unpacked(data):
    assert unpack(data) is None


@given(data=st.binary().map(lambda tail: b"\x00LM1" + tail))
def test_damage_is_not_unpacked(data):
    assert unpack(data) is None


def test_one_request_at_a_time_tries_a_failed_service():
    clock = Clock()
    circuit = Circuit("service", pause=5, clock=clock)
    assert circuit.closed()
    circuit.failed(OSError())
    assert not circuit.closed()
    clock.now += 5
    assert [circuit.closed() for _ in range(3)] == [True, False, False]
    circuit.worked()
    assert circuit.closed()


def test_a_redis_that_answers_too_slowly_is_spared():
    class Client:
        asked = 0

        def get(self, key: str) -> None:
            self.asked += 1

    client = Client()
    store = RedisStore(client, Circuit("redis"), slow=-1)
    for _ in range(3):
        assert store.get("a") is None
    assert client.asked == 1
