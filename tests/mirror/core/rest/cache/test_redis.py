import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.core.rest.cache.redis import AnswerSerializer, RedisCache
from mirror.core.rest.cache.responses import CachedResponse

SERIALIZER = AnswerSerializer({})


@given(
    headers=st.dictionaries(st.text(), st.text()),
    body=st.binary(),
    gzipped=st.booleans(),
    expires=st.floats(0, 1e11),
)
def test_what_is_dumped_is_loaded(headers, body, gzipped, expires):
    cached = CachedResponse(headers, body, gzipped, expires)
    assert SERIALIZER.loads(SERIALIZER.dumps(cached)) == cached


ANSWER = CachedResponse({"etag": '"a"'}, b"a body", False, 1e9)
DUMPED = SERIALIZER.dumps(ANSWER)


@pytest.mark.parametrize("data", [b"", b"text", b"\x00LM5", b"\x00LM5\x00\x00\x00\x02[]"])
def test_what_is_no_answer_is_not_loaded(data):
    assert SERIALIZER.loads(data) is None


@pytest.mark.parametrize("magic", [b"\x00LM4", b"\x00LM6", b"\x00XX5", b"\x01LM5", b"\x80\x04\x95\x00"])
def test_answer_of_another_program_or_version_is_not_loaded(magic):
    assert SERIALIZER.loads(DUMPED) == ANSWER
    # All that follows is right.
    assert SERIALIZER.loads(magic + DUMPED[len(magic) :]) is None


@pytest.mark.parametrize("size", range(len(DUMPED)))
def test_truncated_answer_is_not_loaded(size):
    assert SERIALIZER.loads(DUMPED[:size]) is None


def test_answer_with_more_at_its_end_is_not_loaded():
    assert SERIALIZER.loads(DUMPED + b"more") is None


@given(data=st.binary().map(lambda tail: b"\x00LM5" + tail))
def test_damage_is_not_loaded(data):
    assert SERIALIZER.loads(data) is None


def test_a_redis_that_answers_too_slowly_is_spared(monkeypatch, settings_of):
    settings_of({"rest.redis.commandTimeout": 1e-9})
    calls: list[int] = []
    cache = RedisCache("redis://127.0.0.1:1/0", {})
    monkeypatch.setattr(cache, "_client", type("Client", (), {"get": lambda *_, **__: calls.append(1)})())
    for _ in range(3):
        assert cache.get("a") is None
    assert len(calls) == 1
