"""One block node: what blocks it has, and its stream of them, over gRPC."""

import threading
import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import grpc

from ledger.stream.errors import StreamFileError
from ledger.stream.source.block_node import addresses, answers
from ledger.stream.source.block_node.answers import UNBOUNDED, Available, StatusAnswer
from ledger.stream.source.block_node.api_pb2 import (
    ServerStatusRequest,
    ServerStatusResponse,
    SubscribeStreamRequest,
    SubscribeStreamResponse,
)
from ledger.stream.source.block_node.assembly import (
    Assembler,
    BlockNodeFailure,
    BlockNodeStall,
    Limits,
)
from ledger.stream.source.stream_blocks import FetchedBlock
from mirror.core import logs

log = logs.logger(__name__)

_SUBSCRIBE = "/org.hiero.block.api.BlockStreamSubscribeService/subscribeBlockStream"
_STATUS = "/org.hiero.block.api.BlockNodeService/serverStatus"
# More blocks are received while fewer blocks, and fewer bytes, wait to be loaded; else the node waits.
_MAX_BUFFERED, _MAX_BUFFERED_BYTES = 8, 8 << 20
# A node is connected to again within this time; by default it may take two minutes.
_MIN_PAUSE_MILLISECONDS, _MAX_PAUSE_MILLISECONDS = 200, 2_000
# The addresses of a node that refuses connections over TLS are connected to one by one for so long.
_PROBE_SECONDS = 1.0
# The address of a registered node is looked up for so long before blocks are requested.
_LOOK_UP_SECONDS = 5.0
_SLOW_LOOK_UP = "its name was not looked up in time"
# Another thread has closed the connection.
_CLOSED = StatusAnswer(failure="the connection to it was closed")


class Unreachable(Exception):
    """An endpoint leads nowhere, or where this node does not connect to."""


class Endpoint(NamedTuple):
    host: str
    port: int
    requires_tls: bool = False

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class BlockNode:
    """A block node; the lowest priority is preferred, the endpoints of a `registered` one are checked."""

    status: Endpoint
    stream: Endpoint
    priority: int = 0
    registered: bool = False

    @property
    def name(self) -> str:
        return str(self.stream)


class BlockNodeClient:
    """The connections to a node. Close it when done; that ends its streams. Used again, it connects anew."""

    def __init__(self, node: BlockNode, limits: Limits) -> None:
        self.node = node
        self._limits = limits
        self._channels: dict[Endpoint, grpc.Channel] = {}
        # Where the endpoints lead.
        self._targets: dict[Endpoint, Future[str]] = {}
        self._is_refused = False
        # The endpoints that have answered over the connection of now.
        self._answered: set[Endpoint] = set()
        # The kinds of odd messages that are logged already.
        self._warned: set[str] = set()
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            for channel in self._channels.values():
                channel.close()
            self._channels.clear()
            self._targets.clear()
            self._answered.clear()

    def available(self, seconds: float) -> Available | None:
        return self.poll(seconds).answer().available

    def poll(self, seconds: float) -> "PendingStatus":
        """Request the status of the node, with a time limit."""
        pending = PendingStatus(self, seconds)
        self._target(self.node.status).add_done_callback(pending.begin)
        return pending

    def subscribe(self, start: int, end: int | None = None, *, seconds_per_block: float) -> "Subscription":
        """Return the stream of blocks from `start` on, to `end` or for ever; close it when done."""
        try:
            channel = self.channel(self.node.stream, self._target(self.node.stream), _LOOK_UP_SECONDS)
        except Unreachable as error:
            raise BlockNodeFailure(self.node.name, f"the block node can't be reached: {error}") from error
        subscribe = channel.unary_stream(
            _SUBSCRIBE,
            request_serializer=SubscribeStreamRequest.SerializeToString,
        )
        request = SubscribeStreamRequest(
            start_block_number=start, end_block_number=UNBOUNDED if end is None else end
        )
        assembler = Assembler(self.node.name, self._limits, self._warned)
        try:
            call = subscribe(request)
        except ValueError as error:
            # Another thread has closed the connection.
            cause = f"the connection to the block node was closed: {error}"
            raise BlockNodeFailure(self.node.name, cause) from error
        return Subscription(
            call, self.node, assembler, start, seconds_per_block, self._limits.shutdown_seconds
        )

    def set_answered(self, channel: grpc.Channel) -> None:
        """Note that the node has sent its status over a connection."""
        with self._lock:
            if self._channels.get(self.node.status) is channel:
                self._answered.add(self.node.status)

    def close_if_moved(self, channel: grpc.Channel) -> None:
        """Close a connection that can't be made to a registered node: its name may lead elsewhere now."""
        endpoint = self.node.status
        with self._lock:
            if self.node.registered and self._channels.get(endpoint) is channel:
                self._targets.pop(endpoint, None)
                self._channels.pop(endpoint).close()

    def close_if_stale(self, channel: grpc.Channel) -> None:
        """Close a connection over which answers have stopped, but not one that is still being made."""
        endpoint = self.node.status
        with self._lock:
            if self._channels.get(endpoint) is channel and endpoint in self._answered:
                self._answered.discard(endpoint)
                self._targets.pop(endpoint, None)
                self._channels.pop(endpoint).close()

    def channel(self, endpoint: Endpoint, target: "Future[str]", seconds: float = 0.0) -> grpc.Channel:
        """Return the connection to an endpoint, once it is known where that leads. Errors: Unreachable."""
        try:
            where = target.result(seconds)
        except TimeoutError:
            raise Unreachable(_SLOW_LOOK_UP) from None
        except (addresses.AddressRefused, OSError, ValueError) as error:
            with self._lock:
                self._targets.pop(endpoint, None)
            if not isinstance(error, addresses.AddressRefused):
                raise Unreachable("no such host") from error
            if not self._is_refused:
                self._is_refused = True
                log.warning("block_node_refused", node=self.node.name, reason=str(error))
            raise Unreachable(str(error)) from error
        with self._lock:
            if endpoint not in self._channels:
                self._channels[endpoint] = self._open_channel(endpoint, where)
            return self._channels[endpoint]

    def _target(self, endpoint: Endpoint) -> "Future[str]":
        with self._lock:
            if endpoint not in self._targets:
                self._targets[endpoint] = self._look_up(endpoint)
            return self._targets[endpoint]

    def _look_up(self, endpoint: Endpoint) -> "Future[str]":
        if self.node.registered:
            return addresses.look_up(endpoint.host, endpoint.port)
        # gRPC looks up the names that an operator has chosen.
        target: Future[str] = Future()
        target.set_result(str(endpoint))
        return target

    def _open_channel(self, endpoint: Endpoint, target: str) -> grpc.Channel:
        options: list[tuple[str, object]] = [
            ("grpc.max_receive_message_length", self._limits.message_bytes),
            ("grpc.initial_reconnect_backoff_ms", _MIN_PAUSE_MILLISECONDS),
            ("grpc.max_reconnect_backoff_ms", _MAX_PAUSE_MILLISECONDS),
            ("grpc.min_reconnect_backoff_ms", _MAX_PAUSE_MILLISECONDS),
            # Each client has connections of its own: closing one ends no stream of another.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if self.node.registered:
            # The target is an address: what is sent, and the certificate, have the name.
            options += addresses.options(endpoint.host, endpoint.port)
        if endpoint.requires_tls:
            return grpc.secure_channel(target, grpc.ssl_channel_credentials(), options)
        return grpc.insecure_channel(target, options)


def _reason(
    error: Any,
    endpoint: Endpoint,
    seconds: float | None = None,
    probe_seconds: float = _PROBE_SECONDS,
    *,
    registered: bool,
) -> str:
    """Return why a call has failed after `seconds`: of all addresses the most precise reason."""
    certificate = None
    if endpoint.requires_tls and probe_seconds > 0:
        host, port, _ = endpoint
        certificate = answers.certificate_problem(
            error, host, port, _STATUS, probe_seconds, registered=registered
        )
    return certificate or answers.reason(error, seconds)


class PendingStatus:
    """A request for the status of a node: what blocks does it have?"""

    def __init__(self, client: BlockNodeClient, seconds: float) -> None:
        self._client, self._seconds = client, seconds
        self._started_at = time.monotonic()
        self._begun = threading.Event()
        self._channel: grpc.Channel | None = None
        self._call: Any = None
        self._failure = _CLOSED

    def begin(self, target: "Future[str]") -> None:
        """Send the request, now that it is known where the endpoint leads."""
        try:
            self._channel = self._client.channel(self._client.node.status, target)
            server_status = self._channel.unary_unary(
                _STATUS,
                request_serializer=ServerStatusRequest.SerializeToString,
                response_deserializer=ServerStatusResponse.FromString,
            )
            # Another thread may have closed the connection.
            with suppress(ValueError):
                self._call = server_status.future(ServerStatusRequest(), timeout=self._seconds)
        except Unreachable as error:
            self._failure = StatusAnswer(failure=str(error))
        finally:
            self._begun.set()

    def is_done_within(self, seconds: float) -> bool:
        """Wait for the answer or its failure; return whether there is one in time."""
        until = time.monotonic() + seconds
        if not self._begun.wait(seconds):
            return False
        seconds = max(0.0, until - time.monotonic())
        try:
            if self._call is not None:
                self._call.exception(seconds)
        except grpc.FutureTimeoutError:
            return False
        except grpc.FutureCancelledError:
            pass
        return True

    def answer(self) -> StatusAnswer:
        if not self._begun.wait(max(0.0, self._started_at + self._seconds - time.monotonic())):
            return StatusAnswer(failure=_SLOW_LOOK_UP)
        if self._channel is None or self._call is None:
            return self._failure
        node = self._client.node
        try:
            status = self._call.result()
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                self._client.close_if_stale(self._channel)
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                self._client.close_if_moved(self._channel)
            if error.code() is grpc.StatusCode.CANCELLED:
                return _CLOSED
            # Many requests run at once: the probe has the rest of this one's time.
            rest = self._started_at + self._seconds - time.monotonic()
            probe = min(rest, _PROBE_SECONDS)
            reason = _reason(error, node.status, self._seconds, probe, registered=node.registered)
            return StatusAnswer(failure=reason)
        except grpc.FutureCancelledError:
            return _CLOSED
        self._client.set_answered(self._channel)
        return StatusAnswer.from_status(status.first_available_block, status.last_available_block)


class Subscription:
    """A stream of blocks. A thread reads their items as they arrive, and a few blocks ahead."""

    def __init__(
        self,
        call: Any,
        node: BlockNode,
        assembler: Assembler,
        start: int,
        seconds_per_block: float,
        shutdown_seconds: float,
    ) -> None:
        self._call = call
        self._node = node
        self._seconds, self._shutdown_seconds = seconds_per_block, shutdown_seconds
        self._assembler = assembler
        self._number = start
        # For the reader: blocks, and at the end the reason, None if the stream is complete.
        self._buffered: deque[FetchedBlock | StreamFileError | None] = deque()
        self._buffered_bytes = 0
        self._changed = threading.Condition()
        self._closed = False
        # Waiting for the node since (monotonic seconds); None while it waits for the reader.
        self._idle_since: float | None = time.monotonic()
        # When the first item of an incomplete block came.
        self._block_started: float | None = None
        #: Whether the node has sent all requested blocks.
        self.has_ended = False
        self._thread = threading.Thread(target=self._receive, name="block node", daemon=True)
        self._thread.start()

    def next(self, seconds: float) -> FetchedBlock | None:
        """Return the next block; None if none comes in time, or has_ended. Errors: StreamFileError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._buffered, seconds):
                started = self._block_started
                waited = 0.0 if started is None else time.monotonic() - started
                if waited > self._seconds:
                    cause = "the block node has not sent a whole block in time"
                    raise BlockNodeStall(self._node.name, cause, waited)
                return None
            block = self._buffered.popleft()
            if isinstance(block, FetchedBlock):
                self._buffered_bytes -= block.file.size
                self._changed.notify_all()
        if isinstance(block, StreamFileError):
            raise block
        self.has_ended = block is None
        return block

    @property
    def number(self) -> int:
        """The number of the block that the node sends next."""
        return self._number

    @property
    def is_overdue(self) -> bool:
        """Return whether no item has come for the time of a whole block: perhaps there is no block."""
        with self._changed:
            started = self._idle_since
            if self._buffered or self._block_started is not None or started is None:
                return False
            return time.monotonic() - started > self._seconds

    @property
    def idle(self) -> float:
        """The time since the node has sent anything (s)."""
        with self._changed:
            started = self._idle_since
            if self._block_started is not None:
                started = max(self._block_started, self._assembler.last_item_at)
            return 0.0 if self._buffered or started is None else time.monotonic() - started

    def reset_idle(self) -> None:
        """Start the time without items again, as the node has no block."""
        with self._changed:
            if self._idle_since is not None:
                self._idle_since = time.monotonic()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._buffered.clear()
            self._changed.notify_all()
        self._call.cancel()
        # A block that is still being put together takes memory until then.
        self._thread.join(self._shutdown_seconds)

    # IN THE THREAD

    def _receive(self) -> None:
        last: StreamFileError | None
        try:
            last = self._assemble()
        except StreamFileError as error:
            last = error
        except grpc.RpcError as error:
            reason = _reason(error, self._node.stream, registered=self._node.registered)
            last = self._failure(f"has failed: {reason}")
        except Exception as error:
            # The reader waits for a reason.
            last = self._failure(f"sends what can't be read: {type(error).__name__}: {error}")
        # A node may continue to send.
        self._call.cancel()
        with self._changed:
            self._idle_since = self._block_started = None
            self._buffered.append(last)
            self._changed.notify_all()

    def _assemble(self) -> StreamFileError | None:
        """Put every block; return why there are no more, None if all requested ones have come."""
        for data in self._call:
            message = self._assembler.parse(data)
            is_status = message.WhichOneof("response") == "status"
            if is_status and message.status == SubscribeStreamResponse.SUCCESS:
                if self._assembler.is_pending:
                    return self._failure("has ended the stream within a block")
                return None
            if self._block_started is None and message.WhichOneof("response") == "block_items":
                self._block_started = time.monotonic() if message.block_items.block_items else None
            file = self._assembler.take(message)
            if file is None:
                continue
            number = message.end_of_block.block_number
            if number != self._number:
                return self._failure(f"has sent block {number} instead of block {self._number}")
            self._number += 1
            source, arrived = f"the block node {self._node.name}", self._assembler.last_item_at
            if not self._put(FetchedBlock(file.name, number, file, source, arrived)):
                return None
        return self._failure("has ended the stream, which has no end")

    def _put(self, block: FetchedBlock) -> bool:
        """Put a block, and wait until there is room for another; return False once it is closed."""
        with self._changed:
            self._idle_since = self._block_started = None
            self._buffered.append(block)
            self._buffered_bytes += block.file.size
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._closed or self._has_room)
            self._idle_since = time.monotonic()
            return not self._closed

    @property
    def _has_room(self) -> bool:
        return len(self._buffered) < _MAX_BUFFERED and self._buffered_bytes < _MAX_BUFFERED_BYTES

    def _failure(self, cause: str) -> BlockNodeFailure:
        return BlockNodeFailure(self._node.name, f"the block node {cause}")
