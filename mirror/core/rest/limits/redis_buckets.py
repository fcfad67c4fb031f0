"""Token buckets that all nodes which share a Redis share."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from mirror.core import config
from mirror.core.rest.cache.circuit_breaker import Circuit
from mirror.core.rest.limits.buckets import SHARED_SECONDS, AdvanceBuckets, Buckets, local_buckets
from mirror.core.rest.limits.clients import Client

# As in SharedBuckets. The answer is -1 for a refusal. The state expires when the bucket would be full again.
_TAKE = """
local rate, tokens, advance = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local client, exempt, seconds = ARGV[4], ARGV[5], tonumber(ARGV[6])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local function available(key, rate)
  local found = redis.call('HMGET', key, 'left', 'at')
  if not found[1] then return rate end
  return math.min(rate, found[1] + math.max(0, now - found[2]) * rate)
end
local function store(key, left)
  redis.call('HSET', key, 'left', string.format('%.6f', left), 'at', string.format('%.6f', now))
  redis.call('EXPIRE', key, 2)
end
local left = available(KEYS[1], rate)
local enough = left >= tokens
if client ~= '' then
  local refused = redis.call('HMGET', KEYS[3], 'last', 'at', 'before', 'before_at')
  local shared = false
  for place = 1, 3, 2 do
    local other, at = refused[place], refused[place + 1]
    if other and other ~= client and now - at < seconds then shared = exempt == '0' end
  end
  if shared and left < rate / 2 then
    local own = available(KEYS[2], math.ceil(rate / 2))
    advance, enough = 0, enough and own >= tokens
    if enough then store(KEYS[2], own - tokens) end
  end
  if not enough then
    if refused[1] and refused[1] ~= client then
      redis.call('HSET', KEYS[3], 'before', refused[1], 'before_at', refused[2])
    end
    redis.call('HSET', KEYS[3], 'last', client, 'at', string.format('%.6f', now))
    redis.call('EXPIRE', KEYS[3], seconds)
  end
end
if not enough then return -1 end
if left < tokens + advance then advance = 0 end
store(KEYS[1], math.min(left - tokens - advance, rate))
return advance
"""
_COUNT = """
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 86400)
return 1
"""


class RedisBuckets(Buckets):
    """In a Redis, by a client such as django-redis makes; in `fallback` while that does not work."""

    def __init__(self, client: Any, circuit: Circuit, fallback: Buckets, namespace: str) -> None:
        self._circuit, self._fallback, self._namespace = circuit, fallback, namespace
        self._take, self._count = client.register_script(_TAKE), client.register_script(_COUNT)

    def take(
        self, name: str, rate: int, tokens: int, client: Client | None = None, advance: int = 0
    ) -> int | None:
        key = "" if client is None else str(client.key)
        is_exempt = int(client is not None and client.is_exempt)
        names = name, f"{name}:{key}", f"{name}:refused"
        taken = self._run(self._take, names, rate, tokens, advance, key, is_exempt, SHARED_SECONDS)
        if taken is None:
            return self._fallback.take(name, rate, tokens, client, advance)
        return None if taken < 0 else taken

    def count(self, name: str, limit: int) -> bool:
        counted = self._run(self._count, (name,), limit)
        return self._fallback.count(name, limit) if counted is None else bool(counted)

    def _run(self, script: Any, names: Sequence[str], *arguments: int | str) -> int | None:
        """Return the answer of a script; None when Redis does not answer."""
        if not self._circuit.closed():
            return None
        try:
            answer: int = script([f"{self._namespace}:{name}" for name in names], arguments)
        # A broken server makes its client raise anything.
        except Exception as error:
            self._circuit.record_failure(error)
            return None
        self._circuit.record_success()
        return answer


@cache
def process_buckets() -> Buckets:
    """Return the buckets that all requests to this process use."""
    return configured()


def configured() -> Buckets:
    """In the Redis of the settings, else in the node's data folder."""
    local = local_buckets()
    if config.value("rest.redis.uri") is None:
        return AdvanceBuckets(local)
    from django_redis import get_redis_connection

    namespace = f"ledger-mirror:{config.value('network')}:web3"
    client = get_redis_connection("default")
    return AdvanceBuckets(RedisBuckets(client, Circuit("redis"), local, namespace))
