"""The response cache around the whole API, in memory and in a real Redis."""

import gzip
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.cache import caches
from django.db import connection
from django_redis import get_redis_connection
from redis import Redis

from ledger.api.blocks import Blocks
from mirror.core.config import caches as configured
from mirror.core.rest.cache import memory, redis, responses
from mirror.core.rest.cache.circuit_breaker import Circuit
from mirror.core.rest.cache.redis import AnswerSerializer
from tests.api import Api
from tests.build import SECOND, START, Build
from tests.contracts.api.test_hooks import hook
from tests.counts import counted
from tests.logs import events
from tests.redis_server import Proxy, running
from tests.waiting import wait_until
from tests.web3sim.serving import ServingNode, serving_node

__all__ = ["serving_node"]

BLOCKS = "/api/v1/blocks"
# Longer than any test takes: Redis has a clock of its own.
MAX_AGE = 600


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time passes while answers are kept, and the list of blocks is kept for long."""
    clock = SimpleNamespace(time=lambda: 1.7e9, monotonic=lambda: 1000.0)
    for module in (responses, memory, redis):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(Blocks, "max_age", MAX_AGE)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with running(tmp_path_factory.mktemp("redis")) as path:
        yield path


@pytest.fixture
def use_redis(server, settings, settings_of) -> Callable[..., None]:
    """Has the API share its answers through the Redis at an address."""

    def use(address: str, **changes: float) -> None:
        settings_of({"rest.redis.uri": address} | {f"rest.redis.{name}": changes[name] for name in changes})
        settings.CACHES = configured.caches()

    return use


@pytest.fixture
def in_redis(server, use_redis) -> None:
    use_redis(f"unix://{server}")
    get_redis_connection().flushall()


@pytest.fixture(params=["memory", "redis"])
def cached(request, db) -> Api:
    """The API with its response cache."""
    if request.param == "redis":
        request.getfixturevalue("in_redis")
    caches["responses"].clear()
    return Api(cached=True)


def test_the_second_answer_comes_from_the_cache(cached, build):
    build.block(7)
    first, second = cached.get(f"{BLOCKS}?limit=1"), cached.get(f"{BLOCKS}?limit=1")
    assert len(first.statements) == 1
    assert (second.status, second.statements, second.body) == (200, [], first.body)
    assert second.headers == first.headers
    assert second.headers["link"] == f'<{BLOCKS}?limit=1&block.number=lt:7>; rel="next"'


def test_an_answer_is_kept_though_the_database_has_another_one(cached, build):
    build.block(7)
    assert len(cached.get(BLOCKS).json()["blocks"]) == 1
    build.block(8)
    assert len(cached.get(BLOCKS).json()["blocks"]) == 1
    assert len(Api().get(BLOCKS).json()["blocks"]) == 2


@pytest.mark.parametrize(
    "headers",
    [
        *({"cache_control": text} for text in ("no-cache", "no-store", "max-age=0")),
        {"pragma": "no-cache"},
        {"authorization": "Basic eDp5"},
        {"cookie": "a=b"},
        {"mirror_block": "8"},
    ],
    ids=str,
)
def test_no_header_of_a_client_passes_the_cache_by(cached, headers):
    cached.get(BLOCKS)
    assert cached.get(BLOCKS, **headers).statements == []


@pytest.mark.parametrize(
    "url", ["?limit=2&order=asc", "?order=asc&limit=1", "?limit=1&order=ASC", "/?limit=1&order=asc", ""]
)
def test_requests_that_are_written_differently_are_different(cached, url):
    cached.get(f"{BLOCKS}?limit=1&order=asc")
    assert cached.get(f"{BLOCKS}{url}").statements != []


def test_paths_and_queries_are_not_mixed_up(cached, build):
    build.block(7)
    assert cached.get(f"{BLOCKS}?limit=1").status == 200
    assert cached.get(f"{BLOCKS}%3Flimit=1").status == 404


def test_head_and_get_share_an_answer(cached, build):
    build.block(7)
    head = cached.request("HEAD", BLOCKS)
    get = cached.get(BLOCKS)
    assert get.statements == []
    assert get.json()["blocks"][0]["number"] == 7
    assert cached.request("HEAD", BLOCKS).headers == head.headers == get.headers


def test_errors_are_not_kept(cached, build):
    assert cached.get(f"{BLOCKS}/7").status == 404
    assert cached.get(f"{BLOCKS}?limit=0").status == 400
    build.block(7)
    assert cached.get(f"{BLOCKS}/7").status == 200


def test_other_methods_and_other_paths_are_not_looked_up(cached):
    cached.get(BLOCKS)
    lookups = counted("mirror_http_cache_total")
    assert cached.request("POST", BLOCKS).status == 404
    assert cached.request("OPTIONS", BLOCKS).status == 204
    assert cached.get("/health/liveness").status == 200
    assert counted("mirror_http_cache_total") == lookups


def test_a_client_that_has_the_answer_gets_no_body_from_the_cache_either(cached, build):
    build.block(7)
    url = f"{BLOCKS}?limit=1"
    etag = cached.get(url).headers["etag"]
    answer = cached.get(url, if_none_match=etag)
    assert (answer.status, answer.body, answer.statements) == (304, b"", [])
    assert answer.headers == {
        "cache-control": f"public, max-age={MAX_AGE}",
        "etag": etag,
        "access-control-allow-origin": "*",
        "vary": "Accept-Encoding",
        "link": f'<{BLOCKS}?limit=1&block.number=lt:7>; rel="next"',
    }
    assert cached.get(url, if_none_match='"other"').body != b""


def test_an_answer_without_body_is_kept_with_it(cached, build):
    build.block(7)
    etag = Api().get(BLOCKS).headers["etag"]
    assert cached.get(BLOCKS, if_none_match=etag).status == 304
    answer = cached.get(BLOCKS)
    assert (answer.status, answer.statements) == (200, [])
    assert answer.json()["blocks"][0]["number"] == 7


def test_a_client_that_takes_gzip_gets_what_is_kept(cached, build):
    build.block(7)
    plain = cached.get(BLOCKS)
    packed = cached.get(BLOCKS, accept_encoding="br, gzip;q=0.5")
    assert packed.statements == []
    assert packed.headers == plain.headers | {
        "content-encoding": "gzip",
        "content-length": str(len(packed.body)),
    }
    assert gzip.decompress(packed.body) == plain.body
    unpacked = cached.get(BLOCKS, accept_encoding="br, gzip;q=0")
    assert (unpacked.body, unpacked.headers) == (plain.body, plain.headers)


def test_a_tiny_answer_is_kept_as_it_is(cached):
    plain = cached.get(BLOCKS)
    answer = cached.get(BLOCKS, accept_encoding="gzip")
    assert (answer.statements, answer.body, answer.headers) == ([], plain.body, plain.headers)


def test_with_hosts_in_links_each_host_has_its_own_answers(cached, build, settings_of):
    settings_of({"rest.response.includeHostInLink": True, "web.port": 5551})
    build.block(7)
    url = f"{BLOCKS}?limit=1"
    for host in ("a.example", "b.example:80"):
        for _ in range(2):
            link = cached.get(url, host=host).json()["links"]["next"]
            assert link == f"http://{host.partition(':')[0]}:5551{url}&block.number=lt:7"
    assert cached.get(url, host="a.example", x_forwarded_proto="https").statements != []


@pytest.mark.parametrize(
    ("trusted", "base"),
    [
        ((), "https://mirror.example.org:5551"),
        (("127.0.0.1",), "https://mirror.example.org:5551"),
        (("10.0.0.0/8",), "http://testserver:5551"),
    ],
    ids=["nobody is named", "a trusted proxy", "somebody else"],
)
def test_links_have_the_scheme_and_host_that_a_trusted_proxy_names(cached, build, settings_of, trusted, base):
    settings_of({"rest.response.includeHostInLink": True, "web.port": 5551, "web.trustedProxies": trusted})
    build.block(7)
    url = f"{BLOCKS}?limit=1"
    forwarded = {"x_forwarded_proto": "https", "x_forwarded_host": "mirror.example.org:443"}

    link = cached.get(url, host="testserver", **forwarded).json()["links"]["next"]

    assert link == f"{base}{url}&block.number=lt:7"


@pytest.mark.parametrize(
    ("sent", "prefix"),
    [
        ("/mirror", "/mirror"),
        ("/a/b.c/", "/a/b.c"),
        ("/evil, /mirror", "/mirror"),
        ("//evil.example", ""),
        ("x", ""),
    ],
)
def test_links_have_the_prefix_that_a_trusted_proxy_names(cached, build, settings_of, sent, prefix):
    settings_of({"web.trustedProxies": ("127.0.0.1",)})
    for number in (7, 8):
        build.block(number)
        hook(number)
    hooks = "/api/v1/accounts/1001/hooks"
    for url, bound in ((BLOCKS, "block.number=lt:8"), (hooks, "hook.id=lt:8")):
        for expected, headers in ((prefix, {"x_forwarded_prefix": sent}), ("", {})):
            answer = cached.get(f"{url}?limit=1", **headers)
            assert answer.json()["links"]["next"] == f"{expected}{url}?limit=1&{bound}"
            assert answer.headers["link"] == f'<{expected}{url}?limit=1&{bound}>; rel="next"'
    settings_of({"web.trustedProxies": ("10.0.0.0/8",)})
    assert cached.get(f"{BLOCKS}?limit=1", x_forwarded_prefix=sent).json()["links"]["next"].startswith(BLOCKS)


def _at_once(
    api: Api, method: str = "GET", path: str = BLOCKS, **headers: str
) -> tuple[dict[str, str], bytes] | None:
    """Return what the web server finds without a turn."""
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": ""}
    found: tuple[dict[str, str], bytes] | None = api.application.at_once(environ | headers)
    return found


def test_the_setting_switches_it_off(build):
    api = Api(cached=False)
    for _ in range(2):
        assert len(api.get(BLOCKS).statements) == 1


def test_processes_share_what_is_in_redis(in_redis, build):
    build.block(7)
    Api(cached=True).get(BLOCKS)
    assert Api(cached=True).get(BLOCKS).statements == []


def test_an_answer_lives_in_redis_for_its_max_age(in_redis, build):
    build.block(7)
    client = get_redis_connection()
    Api(cached=True).get(f"{BLOCKS}/7")
    (key,) = client.keys()
    assert 300 < client.ttl(key) <= 600
    serializer = AnswerSerializer({})
    cached = serializer.loads(client.get(key))
    assert cached is not None and cached.gzipped
    client.set(key, serializer.dumps(cached._replace(expires=cached.expires - 400)))
    assert _max_age(Api(cached=True).get(f"{BLOCKS}/7")) == 200
    client.set(key, serializer.dumps(cached._replace(expires=cached.expires - 601)))
    assert Api(cached=True).get(f"{BLOCKS}/7").statements != []


def _max_age(answer) -> int:
    return int(answer.headers["cache-control"].removeprefix("public, max-age="))


def test_networks_that_share_a_redis_do_not_share_answers(in_redis, build, settings_of):
    Api(cached=True).get(BLOCKS)
    settings_of({"network": "othernet"})
    assert Api(cached=True).get(BLOCKS).statements != []


# A BROKEN REDIS


@pytest.fixture
def proxy(server, caplog) -> Iterator[Proxy]:
    Redis(unix_socket_path=str(server)).flushall()
    proxy = Proxy(server)
    with proxy.listening() as proxy.address:
        yield proxy


@pytest.mark.parametrize("fault", ["silent", "cut", "garbage"])
@pytest.mark.parametrize("since", ["the beginning", "later"])
def test_a_redis_that_fails_is_logged_once_and_spared(db, build, proxy, use_redis, caplog, fault, since):
    # Only a silent one has to be waited for until that is enough.
    use_redis(proxy.address, **{"commandTimeout": 0.2} if fault == "silent" else {})
    api = Api(cached=True)
    build.block(7)
    if since == "later":
        # On a slow machine it may be spared at first.
        wait_until(lambda: api.get(BLOCKS).statements == [])
        caplog.clear()
    proxy.fault = fault
    assert len(api.get(f"{BLOCKS}/7").statements) == 1
    asked = proxy.asked
    for _ in range(20):
        answer = api.get(f"{BLOCKS}/7")
        assert (answer.status, answer.json()["number"]) == (200, 7)
        assert _max_age(answer) == 600
    assert proxy.asked == asked
    (event,) = events(caplog)
    assert (event["event"], event["service"]) == ("service_failed", "redis")


@pytest.mark.parametrize("fault", ["number", "other", "broken"])
def test_what_no_one_kept_is_not_found_in_redis(db, build, proxy, use_redis, fault):
    use_redis(proxy.address)
    api = Api(cached=True)
    build.block(7)
    api.get(f"{BLOCKS}/7")
    proxy.fault = fault
    for _ in range(3):
        answer = api.get(f"{BLOCKS}/7")
        assert (answer.status, answer.json()["number"]) == (200, 7)


def test_a_redis_that_is_not_there_changes_nothing(db, build, use_redis, caplog):
    use_redis("redis://127.0.0.1:1/0")
    api = Api(cached=True)
    build.block(7)
    for _ in range(3):
        assert api.get(BLOCKS).json()["blocks"][0]["number"] == 7
    assert len(caplog.records) == 1


def test_a_redis_that_comes_back_is_used_again(proxy, use_redis, caplog, monkeypatch):
    use_redis(proxy.address)
    now = 100.0
    monkeypatch.setattr(redis, "Circuit", partial(Circuit, clock=lambda: now))
    store = caches["responses"]
    assert store.get("a") is None
    proxy.fault = "cut"
    assert store.get("a") is None
    proxy.fault = ""
    asked = proxy.asked
    now += 4.9
    assert store.get("a") is None
    assert proxy.asked == asked
    now += 0.2
    assert store.get("a") is None
    assert proxy.asked > asked
    told = [(event["event"], event["service"]) for event in events(caplog)]
    assert told == [("service_failed", "redis"), ("service_back", "redis")]


def test_connections_that_the_server_closed_meanwhile_are_no_failure(server, in_redis, build, caplog):
    api = Api(cached=True)
    api.get(BLOCKS)
    client = get_redis_connection()
    client.client_kill_filter(_type="normal", skipme=False)
    assert api.get(BLOCKS).statements == []
    assert caplog.records == []


def test_a_newer_block_ends_no_entry_of_a_node(serving_node: ServingNode) -> None:
    build = Build()
    build.block(10, end=START + 10 * SECOND)
    serving_node.start(SVC_MIRROR_WEB_WORKERS="1")
    first = serving_node.get(f"{BLOCKS}/10")
    build.block(11, end=START + 20 * SECOND)
    with connection.cursor() as cursor:
        cursor.execute("update record_file set gas_used = 7 where index = 10")
    assert b'"number":11' in serving_node.get(f"{BLOCKS}?limit=1")[1]
    assert serving_node.get(f"{BLOCKS}/10") == first
