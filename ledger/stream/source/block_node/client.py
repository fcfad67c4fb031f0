"""One block node: what blocks it has, and its stream of them, over gRPC."""

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import grpc

from ledger.stream.record.record_file import RecordFile
from ledger.stream.source.block_node.api_pb2 import (
    ServerStatusRequest,
    ServerStatusResponse,
    SubscribeStreamRequest,
    SubscribeStreamResponse,
)
from ledger.stream.source.block_node.assembly import Assembler, BlockNodeFailure, Limits

WITHOUT_END = (1 << 64) - 1
_SUBSCRIBE = "/org.hiero.block.api.BlockStreamSubscribeService/subscribeBlockStream"
_STATUS = "/org.hiero.block.api.BlockNodeService/serverStatus"
# Messages that are received ahead of the one being read; then the node waits.
_AHEAD = 8
_KEEPALIVE_MILLISECONDS = 20_000


class Endpoint(NamedTuple):
    host: str
    port: int
    requires_tls: bool = False

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class BlockNode:
    """A block node: where it tells its status, and where it streams. The lowest priority is preferred."""

    status: Endpoint
    stream: Endpoint
    priority: int = 0

    @property
    def name(self) -> str:
        return str(self.stream)


class Available(NamedTuple):
    """The first and the last block that a node has."""

    first: int
    last: int

    def has(self, number: int) -> bool:
        return self.first <= number <= self.last


class StreamedBlock(NamedTuple):
    """A block as it came: when its last item had arrived (monotonic seconds), and its node."""

    file: RecordFile
    arrived: float
    node: BlockNode


class BlockNodeClient:
    """The connections to a node. Close it when done; that ends its streams."""

    def __init__(self, node: BlockNode, limits: Limits) -> None:
        self.node = node
        self._limits = limits
        self._channels: dict[Endpoint, grpc.Channel] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            for channel in self._channels.values():
                channel.close()
            self._channels.clear()

    def available(self, seconds: float) -> Available | None:
        """Return what blocks the node has; None if it has none, or does not answer in time."""
        ask = self._channel(self.node.status).unary_unary(
            _STATUS,
            request_serializer=ServerStatusRequest.SerializeToString,
            response_deserializer=ServerStatusResponse.FromString,
        )
        try:
            answer = ask(ServerStatusRequest(), timeout=seconds)
        except grpc.RpcError:
            return None
        if answer.first_available_block == WITHOUT_END:
            return None
        return Available(answer.first_available_block, answer.last_available_block)

    def blocks(
        self, start: int, end: int | None = None, *, seconds_per_block: float, stopping: threading.Event
    ) -> Iterator[StreamedBlock]:
        """Yield blocks from `start` on, each within its time; ends after `end`, or when stopping.

        Errors: StreamFileError, BlockNodeFailure among them.
        """
        subscribe = self._channel(self.node.stream).unary_stream(
            _SUBSCRIBE,
            request_serializer=SubscribeStreamRequest.SerializeToString,
            response_deserializer=SubscribeStreamResponse.FromString,
        )
        request = SubscribeStreamRequest(
            start_block_number=start, end_block_number=WITHOUT_END if end is None else end
        )
        call = subscribe(request)
        received = _Received(call)
        assembler = Assembler(self.node.name, self._limits)
        try:
            until = time.monotonic() + seconds_per_block
            while not stopping.is_set():
                response = received.next(until, self.node.name)
                if response is None:
                    if assembler.is_pending:
                        raise BlockNodeFailure(
                            self.node.name, 0, "the block node has ended the stream within a block"
                        )
                    return
                if file := assembler.take(response):
                    yield StreamedBlock(file, assembler.last_item_at, self.node)
                    until = time.monotonic() + seconds_per_block
        finally:
            received.close()

    def _channel(self, endpoint: Endpoint) -> grpc.Channel:
        with self._lock:
            if endpoint not in self._channels:
                self._channels[endpoint] = self._connected(endpoint)
            return self._channels[endpoint]

    def _connected(self, endpoint: Endpoint) -> grpc.Channel:
        options = [
            ("grpc.max_receive_message_length", self._limits.message_bytes),
            ("grpc.keepalive_time_ms", _KEEPALIVE_MILLISECONDS),
            # Each client has connections of its own: closing one ends no stream of another.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if endpoint.requires_tls:
            return grpc.secure_channel(str(endpoint), grpc.ssl_channel_credentials(), options)
        return grpc.insecure_channel(str(endpoint), options)


class _Received:
    """The messages of a call, received by a thread, so that one that does not come can be given up."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self._messages: queue.Queue[SubscribeStreamResponse | grpc.RpcError | bool] = queue.Queue(_AHEAD)
        self._closed = threading.Event()
        threading.Thread(target=self._receive, name="block node", daemon=True).start()

    def _receive(self) -> None:
        last: grpc.RpcError | bool = False
        try:
            for message in self._call:
                if message.WhichOneof("response") == "status" and message.status == (
                    SubscribeStreamResponse.SUCCESS
                ):
                    last = True
                    break
                if not self._put(message):
                    return
        except grpc.RpcError as error:
            last = error
        self._put(last)

    def _put(self, message: Any) -> bool:
        while not self._closed.is_set():
            with suppress(queue.Full):
                self._messages.put(message, timeout=0.5)
                return True
        return False

    def next(self, until: float, node: str) -> SubscribeStreamResponse | None:
        """Return the next message, None after the last. Errors: BlockNodeFailure."""
        try:
            message = self._messages.get(timeout=max(until - time.monotonic(), 0))
        except queue.Empty:
            raise BlockNodeFailure(
                node, 0, "the block node has not sent a whole block in time", "Another one is asked."
            ) from None
        if message is False:
            raise BlockNodeFailure(node, 0, "the block node has ended the stream, which has no end")
        if isinstance(message, grpc.RpcError):
            raise BlockNodeFailure(node, 0, f"the block node has failed: {_reason(message)}") from message
        return None if message is True else message

    def close(self) -> None:
        self._closed.set()
        self._call.cancel()


def _reason(error: Any) -> str:
    code = error.code().name if hasattr(error, "code") and error.code() else type(error).__name__
    details = error.details() if hasattr(error, "details") else ""
    return f"{code}: {details}" if details else code
