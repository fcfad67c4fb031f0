"""The gRPC server: ConsensusService and NetworkService, with health and reflection.

One event loop moves bytes; threads read the database (`mirror.web.grpc.reading`). Every call ends with a
status and text of the original's, and is counted and logged here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import grpc
from cachetools import TTLCache
from grpc import StatusCode
from grpc_health.v1 import health, health_pb2
from grpc_reflection.v1alpha import reflection, reflection_pb2

from ledger.queries import entities
from mirror.core import config, logs
from mirror.core.config import clock
from mirror.core.config.setting import OperatorError
from mirror.core.metrics import grpc as metrics
from mirror.core.metrics import sample
from mirror.core.values.hapi import messages as hapi
from mirror.web.grpc import clients
from mirror.web.grpc.calls import Call, Pacer
from mirror.web.grpc.follower import Follower
from mirror.web.grpc.messages import encoded_nodes
from mirror.web.grpc.reading import ReadingThreads
from mirror.web.grpc.requests import (
    CallError,
    NodeFilter,
    invalid,
    node_filter,
    not_found,
    topic_filter,
)
from mirror.web.grpc.subscription import Subscription

log = logs.logger("mirror.grpc")

_PACKAGE = "com.hedera.mirror.api.proto"
TOPICS, NETWORK = f"{_PACKAGE}.ConsensusService", f"{_PACKAGE}.NetworkService"
_REFLECTION = ("grpc.reflection.v1.ServerReflection", reflection.SERVICE_NAME)
_SERVICES = (TOPICS, NETWORK, health.SERVICE_NAME, *_REFLECTION)

CERTIFICATE, KEY = "grpc.tls.certificate", "grpc.tls.key"

_STOP_SECONDS = 1.0
_WATCH_SECONDS = 1.0
# A client has stalled if it takes no message that waits for it: after the first time it is sent only what it
# reads, after the second its place is given to another one.
_RELEASE_SECONDS, _STALLED_SECONDS = 3.0, 10.0
_UNREAD = "No message has been read for {} seconds. Please retry later"
_TOPIC_SECONDS = 86_400
# Requests beyond 1024 bytes are refused by the handler, with the original's text; these by the library.
_OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 1 << 16),
    ("grpc.max_connection_idle_ms", 600_000),
    ("grpc.server_handshake_timeout_ms", 20_000),
    ("grpc.keepalive_time_ms", 300_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # Clients of SDKs ping each 90 seconds, not always to the millisecond.
    ("grpc.http2.min_ping_interval_without_data_ms", 60_000),
)


class Server:
    """The server at an address such as 127.0.0.1:5600, in the running event loop."""

    def __init__(self) -> None:
        self._threads = ReadingThreads()
        self._most: int = config.value(clients.SUBSCRIPTIONS)
        self._send_timeout: float = config.value("grpc.sendTimeout")
        self._subscriptions: dict[Subscription, Call] = {}
        # Topics that exist stay topics.
        self._known: TTLCache[int, bool] = TTLCache(config.value("grpc.entityCacheSize"), _TOPIC_SECONDS)
        self._limits = clients.Limits()
        self._pacer = Pacer()
        self._health = health.aio.HealthServicer()
        self._tasks: set[Any] = set()

    @property
    def threads(self) -> ReadingThreads:
        return self._threads

    async def start(self, address: str) -> int:
        """Listen, and return the port. Errors: RuntimeError if it can't be bound; OperatorError."""
        calls = config.value("grpc.netty.maxConcurrentCallsPerConnection")
        connections = clients.most_connections()
        options = (
            *_OPTIONS,
            ("grpc.max_concurrent_streams", calls),
            ("grpc.max_allowed_incoming_connections", connections),
        )
        self._server = grpc.aio.server(options=options)
        self._server.add_generic_rpc_handlers((_Handlers(self._methods()),))
        if secured := tls_credentials():
            port: int = self._server.add_secure_port(address, secured)
        else:
            port = self._server.add_insecure_port(address)
        self._follower = Follower(asyncio.get_running_loop(), self._threads, self._note_health)
        self._follower.start()
        self._note_health(True)
        sample(metrics.SUBSCRIBERS.labels("TopicMessage"), lambda: len(self._subscriptions))
        await self._server.start()
        self._watching = asyncio.create_task(self._watch(port, connections))
        return port

    async def stop(self) -> None:
        """End all subscriptions with UNAVAILABLE, and the server."""
        self._watching.cancel()
        await self._health.enter_graceful_shutdown()
        for subscription in list(self._subscriptions):
            subscription.stop()
        await self._server.stop(_STOP_SECONDS)
        await asyncio.to_thread(self._follower.stop)
        await asyncio.to_thread(self._threads.close)

    def _methods(self) -> dict[str, Any]:
        # Reflection finds what is imported, and messages are imported when they are first used.
        _ = hapi.ConsensusTopicQuery, hapi.AddressBookQuery
        info = reflection.aio.ReflectionServicer(_SERVICES)

        async def answer_reflection(requests: Any, context: Any) -> None:
            async for answer in info.ServerReflectionInfo(requests, context):
                await context.write(answer)

        reflect = grpc.stream_stream_rpc_method_handler(
            self._within_share(answer_reflection),
            request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
            response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
        )
        of_health = {
            "request_deserializer": health_pb2.HealthCheckRequest.FromString,
            "response_serializer": health_pb2.HealthCheckResponse.SerializeToString,
        }
        return {
            f"/{TOPICS}/subscribeTopic": self._method(TOPICS, "subscribeTopic", self._subscribe),
            f"/{NETWORK}/getNodes": self._method(NETWORK, "getNodes", self._send_nodes),
            f"/{health.SERVICE_NAME}/Check": grpc.unary_unary_rpc_method_handler(
                self._health.Check, **of_health
            ),
            f"/{health.SERVICE_NAME}/Watch": grpc.unary_stream_rpc_method_handler(
                self._within_share(self._health.Watch), **of_health
            ),
            # Both releases of reflection have the same messages.
            **{f"/{name}/ServerReflectionInfo": reflect for name in _REFLECTION},
        }

    def _note_health(self, is_healthy: bool) -> None:
        """Set the status of the health service: whether the database answers."""
        status = health_pb2.HealthCheckResponse
        for name in ("", TOPICS, NETWORK):
            setting = self._health.set(name, status.SERVING if is_healthy else status.NOT_SERVING)
            task = asyncio.ensure_future(setting)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _watch(self, port: int, connections: int) -> None:
        """Look after clients that read nothing, and connections beyond a client's share, again and again."""
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            try:
                for subscription, call in list(self._subscriptions.items()):
                    if call.stalled_seconds > self._send_timeout:
                        self._end(subscription, StatusCode.UNAVAILABLE)
                    elif call.stalled_seconds > _RELEASE_SECONDS:
                        subscription.release()
                await asyncio.to_thread(clients.close_excess, port, connections)
            except Exception:
                log.error("unexpected_error", exc_info=True)

    # CALLS

    def _method(self, service: str, name: str, work: Callable[[Call, bytes], Awaitable[None]]) -> Any:
        async def answer(request: bytes, context: Any) -> None:
            call = Call(service, name, context, self._pacer)
            with ExitStack() as stack:
                try:
                    self._limits.count(call.client)
                    stack.enter_context(self._limits.share(call.client))
                    await work(call, request)
                except CallError as error:
                    call.refusal = error
                except asyncio.CancelledError:
                    if call.refusal is None:
                        call.status = StatusCode.CANCELLED
                        raise
                except Exception:
                    log.error("unexpected_error", exc_info=True)
                    call.refusal = CallError(StatusCode.UNKNOWN, "Unknown error")
                finally:
                    call.count()
                # For a client that reads nothing this lasts as long as its connection, within its share.
                if call.refusal is not None:
                    await context.abort(call.refusal.code, call.refusal.details)

        return grpc.unary_stream_rpc_method_handler(answer)

    def _within_share(self, work: Callable[[Any, Any], Awaitable[None]]) -> Any:
        """Return a method of a library, for which calls of a client are counted with its other ones."""

        async def answer(request: Any, context: Any) -> None:
            try:
                with self._limits.share(clients.address(context)):
                    await work(request, context)
            except CallError as refusal:
                await context.abort(refusal.code, refusal.details)

        return answer

    async def _subscribe(self, call: Call, request: bytes) -> None:
        requested = topic_filter(request, clock.now_ns())
        if len(self._subscriptions) >= self._most:
            self._make_room()
        read = partial(self._threads.run, call.network)
        subscription = Subscription(
            requested, read, self._follower, call.write, lambda: len(self._subscriptions)
        )
        self._subscriptions[subscription] = call
        try:
            await self._check_topic(call, requested.topic_id)
            call.log_start(requested)
            await subscription.run()
        finally:
            self._subscriptions.pop(subscription, None)

    def _make_room(self) -> None:
        """End the subscription whose client has stalled longest. Errors: CallError if none has."""
        longest = max(self._subscriptions, key=lambda each: self._subscriptions[each].stalled_seconds)
        if self._subscriptions[longest].stalled_seconds < _STALLED_SECONDS:
            text = f"This node has {self._most} subscriptions already. Please retry later"
            raise CallError(StatusCode.RESOURCE_EXHAUSTED, text)
        self._end(longest, StatusCode.RESOURCE_EXHAUSTED)

    def _end(self, subscription: Subscription, code: StatusCode) -> None:
        """End the subscription of a client that has stalled."""
        call = self._subscriptions.pop(subscription)
        call.end(CallError(code, _UNREAD.format(round(call.stalled_seconds))))

    async def _check_topic(self, call: Call, topic_id: int) -> None:
        """Reject an id that is no topic; one that need not exist may become something else."""
        if topic_id in self._known:
            return
        if await self._threads.run(call.network, partial(_is_topic, topic_id)):
            self._known[topic_id] = True

    async def _send_nodes(self, call: Call, request: bytes) -> None:
        requested: NodeFilter = node_filter(request)
        nodes = await self._threads.run(call.network, partial(encoded_nodes, requested.file_id))
        size, pause = config.value("grpc.addressbook.pageSize"), config.value("grpc.addressbook.pageDelay")
        for number, node in enumerate(nodes[: requested.limit]):
            if number and number % size == 0:
                await asyncio.sleep(pause)
            await call.write(node)


def _is_topic(topic_id: int) -> bool:
    """Return whether a topic exists, as it must unless the setting says otherwise. Errors: CallError."""
    kind = entities.type_of(topic_id)
    if kind is None:
        if config.value("grpc.checkTopicExists"):
            raise not_found(topic_id)
        return False
    if kind != "TOPIC":
        raise invalid("Not a valid topic")
    return True


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[misc]
    """The methods by their paths."""

    def __init__(self, methods: dict[str, Any]) -> None:
        self._methods = methods

    def service(self, details: Any) -> Any:
        return self._methods.get(details.method) or grpc.stream_stream_rpc_method_handler(
            partial(_unknown_method, details.method.removeprefix("/"))
        )


async def _unknown_method(name: str, requests: Any, context: Any) -> None:
    await context.abort(StatusCode.UNIMPLEMENTED, f"Method not found: {name}")


def tls_credentials() -> Any:
    """Return the credentials of the settings, read again once the certificate has changed; None without TLS.

    Errors: OperatorError.
    """
    certificate, key = config.value(CERTIFICATE), config.value(KEY)
    if not (certificate or key):
        return None
    if not (certificate and key):
        names = " and ".join(config.lookup(name).variable for name in (CERTIFICATE, KEY))
        raise OperatorError(f"TLS of the gRPC API needs both {names}.")
    read = 0

    def changed() -> Any:
        nonlocal read
        if (modified := Path(certificate).stat().st_mtime_ns) == read:
            return None
        read = modified
        return grpc.ssl_server_certificate_configuration(
            [(Path(key).read_bytes(), Path(certificate).read_bytes())]
        )

    def renewed() -> Any:
        # The library calls it at each handshake.
        with suppress(OSError):
            return changed()

    try:
        return grpc.dynamic_ssl_server_credentials(changed(), renewed)
    except OSError as error:
        raise OperatorError(f"The file {error.filename} of the gRPC API: {error.strerror}.") from error
