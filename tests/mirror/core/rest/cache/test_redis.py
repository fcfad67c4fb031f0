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
    block=st.integers(-1, 2**63 - 1),
)
def test_what_is_dumped_is_loaded(headers, body, gzipped, expires, block):
    cached = CachedResponse(headers, body, gzipped, expires, block)
    assert SERIALIZER.loads(SERIALIZER.dumps(cached)) == cached


@pytest.mark.parametrize("data", [b"", b"text", b"\x00LM3", b"\x00LM2\x00\x00\x00\x02[]"])
def test_what_is_no_answer_is_not_loaded(data):
    assert SERIALIZER.loads(data) is None


@given(data=st.binary().map(lambda tail: b"\x00LM3" + tail))
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
