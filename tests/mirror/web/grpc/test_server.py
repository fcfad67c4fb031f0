"""The gRPC server itself: its services, limits, outages, metrics and log."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.db import connections
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from mirror.core import config, metrics
from mirror.core.config.setting import OperatorError
from mirror.core.values.hapi import messages as hapi
from mirror.web.grpc import clients, subscription
from mirror.web.grpc import server as grpc_server
from tests.counts import counted
from tests.grpc_client import GET_NODES, NETWORK, SUBSCRIBE, TOPIC, TOPICS, Client, Stream, topic_query
from tests.http2 import Http2Connection
from tests.linux import linux_only
from tests.logs import events
from tests.mirror.web.grpc.serving import Served, add, served, topic
from tests.waiting import PATIENCE_SECONDS, wait_until

OK = ("OK", "")
AWAY = ("UNAVAILABLE", "Error querying the data source. Please retry later")


# SERVICES


@pytest.mark.parametrize("method", ["/com.hedera.mirror.api.proto.ConsensusService/submit", "/other/one"])
def test_an_unknown_method_is_named(client: Client, method: str) -> None:
    stream = client.call(method, b"", hapi.ConsensusTopicResponse)
    assert stream.ended() == ("UNIMPLEMENTED", f"Method not found: {method[1:]}")


@pytest.mark.parametrize("service", ["", TOPICS, NETWORK])
def test_the_health_service_says_that_the_server_serves(client: Client, service: str) -> None:
    check = client.channel.unary_unary("/grpc.health.v1.Health/Check")
    answer = check(health_pb2.HealthCheckRequest(service=service).SerializeToString(), timeout=60)
    status = health_pb2.HealthCheckResponse.FromString(answer).status
    assert status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize("release", ["v1", "v1alpha"])
def test_reflection_lists_the_services_and_describes_them(client: Client, release: str) -> None:
    ask = client.channel.stream_stream(
        f"/grpc.reflection.{release}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    questions = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol=TOPICS),
    ]
    services, files = ask(iter(questions), timeout=60)
    assert [each.name for each in services.list_services_response.service] == [
        "com.hedera.mirror.api.proto.ConsensusService",
        "com.hedera.mirror.api.proto.NetworkService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
    ]
    assert len(files.file_descriptor_response.file_descriptor_proto) > 1


# LIMITS


def test_more_subscriptions_than_the_limit_are_refused(
    settings_of: Callable[..., None], transactional_db: None
) -> None:
    settings_of({"grpc.maxSubscriptions": 1})
    topic(1)
    with served() as server:
        client = Client(server.port)
        first = client.subscribe()
        first.has(1)
        assert client.subscribe().ended() == (
            "RESOURCE_EXHAUSTED",
            "This node has 1 subscriptions already. Please retry later",
        )
        first.call.cancel()
        wait_until(lambda: not server.open)
        assert client.subscribe(limit=1).ended() == OK
        client.channel.close()


def test_a_client_with_too_many_calls_is_refused_unless_it_is_exempt(
    settings_of: Callable[..., None], transactional_db: None
) -> None:
    settings_of(
        {
            "grpc.rateLimit.requestsPerSecond": 1,
            "grpc.rateLimit.exempt": ("192.0.2.7",),
            "web.trustedProxies": ("127.0.0.1",),
        }
    )
    refused = (
        "RESOURCE_EXHAUSTED",
        "Too many requests: a client may make 1 calls a second. Please retry later",
    )
    with served() as server:
        client = Client(server.port)

        def ask(address: str) -> tuple[str, str]:
            headers = [("x-forwarded-for", address)]
            return client.call(SUBSCRIBE, b"", hapi.ConsensusTopicResponse, metadata=headers).ended()

        assert refused in [ask("192.0.2.1") for _ in range(10)]
        assert ask("192.0.2.2") != refused
        assert refused not in [ask("192.0.2.7") for _ in range(10)]
        client.channel.close()


def test_a_client_has_a_share_of_the_calls_unless_it_is_exempt(
    settings_of: Callable[..., None], transactional_db: None
) -> None:
    settings_of(
        {
            "grpc.maxCallsPerClient": 2,
            "grpc.netty.maxConcurrentCallsPerConnection": 100,
            "grpc.rateLimit.exempt": ("192.0.2.7",),
            "web.trustedProxies": ("127.0.0.1",),
        }
    )
    refused = ("RESOURCE_EXHAUSTED", "A client may have 2 calls at a time. Please retry later")
    topic(1)
    with served() as server:
        client = Client(server.port)

        def call(address: str, method: str = SUBSCRIBE, request: bytes = topic_query()) -> Stream:
            headers = [("x-forwarded-for", address)]
            return client.call(method, request, hapi.ConsensusTopicResponse, metadata=headers)

        first = [call("2001:db8::1"), call("2001:db8::2")]
        for stream in first:
            stream.has(1)
        assert call("2001:db8::3").ended() == refused
        assert call("2001:db8::4", GET_NODES, b"").ended() == refused
        assert call("2001:db8::5", "/grpc.health.v1.Health/Watch", b"").ended() == refused
        reflection_method = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
        assert call("2001:db8::5", reflection_method, b"").ended() == refused
        for address in ("2001:db8:0:1::1", "192.0.2.1", "192.0.2.2", *["192.0.2.7"] * 4):
            call(address).has(1)
        first[0].call.cancel()
        wait_until(lambda: server.open == 8)
        call("2001:db8::6").has(1)
        client.channel.close()


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often after clients that read nothing, and have them stalled soon."""
    for name in ("_WATCH_SECONDS", "_RELEASE_SECONDS", "_STALLED_SECONDS"):
        monkeypatch.setattr(grpc_server, name, 0.1)


def unread(client: Client, server: Served) -> Any:
    """Subscribe to a long topic, read its first message only, and return the call once it has stalled."""
    topic(*range(1, 251), message=b"x" * 6_000)
    call = client.channel.unary_stream(SUBSCRIBE)(topic_query())
    assert numbers([next(call)]) == [1]
    wait_until(lambda: any(each.stalled_seconds > 0.1 for each in server.server._subscriptions.values()))
    return call


def numbers(answers: Iterable[bytes]) -> list[int]:
    return [hapi.ConsensusTopicResponse.FromString(data).sequenceNumber for data in answers]


@pytest.mark.usefixtures("quickly", "transactional_db")
@pytest.mark.parametrize("is_full", [True, False], ids=["full", "timeout"])
def test_a_client_that_reads_nothing_loses_its_subscription(
    settings_of: Callable[..., None], is_full: bool
) -> None:
    settings_of({"grpc.maxSubscriptions": 1} if is_full else {"grpc.sendTimeout": 0.2})
    with served() as server:
        stalled, other = Client(server.port), Client(server.port)
        call = unread(stalled, server)
        if is_full:
            assert other.subscribe(limit=1).ended() == OK
        wait_until(lambda: not server.open)

        got = list[int]()
        with pytest.raises(grpc.RpcError):
            for data in call:
                got += numbers([data])

        assert got == list(range(2, len(got) + 2))
        assert call.code().name == ("RESOURCE_EXHAUSTED" if is_full else "UNAVAILABLE")
        assert call.details().startswith("No message has been read for ")
        stalled.channel.close()
        other.channel.close()


@pytest.mark.usefixtures("quickly")
def test_messages_of_a_client_that_reads_nothing_are_left_in_the_database(
    server: Served, client: Client
) -> None:
    call = unread(client, server)
    (subscription,) = server.server._subscriptions
    wait_until(lambda: subscription._overflowed)
    assert (len(subscription._unsent), len(subscription._queue)) == (0, 0)
    add(251)
    reading = (numbers([data])[0] for data in call)
    assert list(itertools.islice(reading, 250)) == list(range(2, 252))
    call.cancel()


@linux_only
def test_connections_are_limited_altogether_and_of_each_address(
    settings_of: Callable[..., None], transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grpc_server, "_WATCH_SECONDS", 0.1)
    settings_of({"grpc.maxConnections": 15})
    topic(1)
    with served() as server, ExitStack() as stack:

        def connect(address: str, count: int) -> list[Http2Connection]:
            return [stack.enter_context(Http2Connection(server.port, address)) for _ in range(count)]

        # A client may have 10.
        many = connect("127.0.0.66", 13)
        wait_until(lambda: sum(each.drain() for each in many) >= 3)
        few = connect("127.0.0.67", 4)
        client = Client(server.port)
        assert client.subscribe(limit=1).ended() == OK
        beyond = connect("127.0.0.68", 1)
        wait_until(lambda: beyond[0].drain())
        assert not any(each.drain() for each in few)
        client.channel.close()


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("ipv4:192.0.2.9:53224", None, "192.0.2.9"),
        ("ipv6:%5B2001:db8::1%5D:53224", None, "2001:db8::1"),
        ("ipv4:192.0.2.9:53224", "198.51.100.1", "192.0.2.9"),
        ("ipv4:127.0.0.1:53224", "203.0.113.5, 198.51.100.1", "198.51.100.1"),
    ],
)
def test_a_client_is_who_a_trusted_proxy_says(
    settings_of: Callable[..., None], peer: str, forwarded: str | None, address: str
) -> None:
    settings_of({"web.trustedProxies": ("127.0.0.1",)})

    class Context:
        def peer(self) -> str:
            return peer

        def invocation_metadata(self) -> Any:
            return (("x-forwarded-for", forwarded),) if forwarded else ()

    assert clients.address(Context()) == address


# OUTAGES


@pytest.fixture
def away(server: Served) -> Iterator[Callable[[bool], None]]:
    """Yield a function that lets the database go away, or come back, for the server's new connections."""
    database = connections["default"].settings_dict
    parts = connections.settings["default"]
    host = parts["HOST"]

    def set_away(is_away: bool) -> None:
        parts["HOST"] = "/nonexistent" if is_away else host
        if is_away:
            with connections["default"].cursor() as cursor:
                cursor.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity "
                    "where datname = %s and pid <> pg_backend_pid()",
                    [database["NAME"]],
                )

    yield set_away
    parts["HOST"] = host


def test_an_outage_keeps_open_streams_and_refuses_new_ones(
    away: Callable[[bool], None], client: Client
) -> None:
    topic(1)
    stream = client.subscribe(limit=3)
    stream.has(1)
    check = client.channel.unary_unary("/grpc.health.v1.Health/Check")

    def health() -> int:
        return int(health_pb2.HealthCheckResponse.FromString(check(b"", timeout=60)).status)

    away(True)
    # What still has a connection of before loses it by its next statement.
    wait_until(lambda: client.subscribe(topic=TOPIC + 1, limit=1).ended() == AWAY)
    wait_until(lambda: client.nodes().ended() == AWAY)
    wait_until(lambda: health() == health_pb2.HealthCheckResponse.NOT_SERVING)
    add(2)
    assert stream.code is None
    away(False)
    add(3)

    assert stream.ended() == OK
    assert stream.numbers == [1, 2, 3]
    wait_until(lambda: health() == health_pb2.HealthCheckResponse.SERVING)


def test_a_statement_that_takes_too_long_is_an_error(
    settings_of: Callable[..., None], client: Client
) -> None:
    topic(1)
    settings_of({"rest.db.statementTimeout": 0.2})
    with connections["default"].cursor() as cursor:
        cursor.execute("begin")
        cursor.execute("lock table topic_message")
        ended = client.subscribe().ended()
        cursor.execute("rollback")
    assert ended == ("RESOURCE_EXHAUSTED", "Error querying the data source. Please retry later")


def test_an_error_of_the_program_is_logged_and_ends_the_call(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    topic(1)
    monkeypatch.setattr(subscription, "delivery", None)
    assert client.subscribe().ended() == ("UNKNOWN", "Unknown error")
    assert [each["event"] for each in events(caplog)].count("unexpected_error") == 1


# METRICS AND LOG


def test_calls_are_counted_and_subscriptions_logged(
    caplog: pytest.LogCaptureFixture, server: Served, client: Client
) -> None:
    caplog.set_level("INFO", "mirror.grpc")
    labels = {"service": TOPICS, "method": "subscribeTopic", "methodType": "SERVER_STREAMING"}

    def counts() -> list[float]:
        return [
            counted("grpc_server_requests_received_messages_total", **labels),
            counted("grpc_server_responses_sent_messages_total", **labels),
            counted("grpc_server_processing_duration_seconds_count", **labels, statusCode="OK"),
            counted("hiero_mirror_grpc_consensus_latency_seconds_count"),
        ]

    before = counts()
    topic(1, 2)
    stream = client.subscribe(limit=3)
    stream.has(2)
    wait_until(lambda: server.is_following)
    metrics.set_gauges()
    assert counted("hiero_mirror_grpc_subscribers", type="TopicMessage") == 1
    add(3)
    assert stream.ended() == OK
    wait_until(lambda: not server.open)

    assert [now - then for now, then in zip(counts(), before, strict=True)] == [1, 3, 1, 1]
    started, ended = events(caplog)
    assert started.pop("subscriber") == ended.pop("subscriber")
    assert ended.pop("seconds") > 0
    assert started == {
        **{"event": "subscription_started", "client": "127.0.0.1", "topic": f"0.0.{TOPIC}"},
        **{"start": 0, "end": None, "limit": 3},
    }
    assert ended == {"event": "subscription_ended", "status": "OK", "messages": 3}


# TLS


def certificate(folder: Path, name: str) -> bytes:
    """Write a certificate of localhost with its key; return it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = signed.public_bytes(serialization.Encoding.PEM)
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(key_pem)
    (folder / "certificate.pem").write_bytes(pem)
    return pem


def test_the_server_speaks_tls_by_the_certificate_of_now(
    settings_of: Callable[..., None], transactional_db: None, tmp_path: Path
) -> None:
    first = certificate(tmp_path, "first")
    settings_of(
        {
            "grpc.tls.certificate": str(tmp_path / "certificate.pem"),
            "grpc.tls.key": str(tmp_path / "key.pem"),
        }
    )

    def answers(port: int, root: bytes) -> bool:
        secured = grpc.ssl_channel_credentials(root)
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.secure_channel(f"localhost:{port}", secured, options) as channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check")
            try:
                return bool(check(b"", timeout=PATIENCE_SECONDS))
            except grpc.RpcError:
                return False

    with served() as server:
        assert answers(server.port, first)
        second = certificate(tmp_path, "second")
        assert answers(server.port, second)
        assert not answers(server.port, first)


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (
            ("a", ""),
            "TLS of the gRPC API needs both SVC_MIRROR_GRPC_TLS_CERTIFICATE and SVC_MIRROR_GRPC_TLS_KEY.",
        ),
        (("/none", "/none"), "The file /none of the gRPC API: No such file or directory."),
    ],
)
def test_tls_without_its_files_is_refused(
    settings_of: Callable[..., None], files: tuple[str, str], sentence: str
) -> None:
    settings_of(dict(zip((grpc_server.CERTIFICATE, grpc_server.KEY), files, strict=True)))
    with pytest.raises(OperatorError) as refused:
        grpc_server.tls_credentials()
    assert str(refused.value) == sentence
    assert config.value(grpc_server.KEY) == files[1]
