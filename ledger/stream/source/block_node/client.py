"""One block node: what blocks it has, and its stream of them, over gRPC."""

import queue
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import grpc

from ledger.stream.errors import StreamFileError
from ledger.stream.record.record_file import RecordFile
from ledger.stream.source.block_node.api_pb2 import (
    ServerStatusRequest,
    ServerStatusResponse,
    SubscribeStreamRequest,
    SubscribeStreamResponse,
)
from ledger.stream.source.block_node.assembly import (
    ANOTHER_NODE,
    Assembler,
    BlockNodeFailure,
    Limits,
)

WITHOUT_END = (1 << 64) - 1
_SUBSCRIBE = "/org.hiero.block.api.BlockStreamSubscribeService/subscribeBlockStream"
_STATUS = "/org.hiero.block.api.BlockNodeService/serverStatus"
# Blocks that are received ahead of the one being loaded; then the node waits.
_AHEAD = 8
_LOOK_SECONDS = 0.5
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

    number: int
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

    def subscribe(self, start: int, end: int | None = None, *, seconds_per_block: float) -> "Subscription":
        """Return the stream of blocks from `start` on, to `end` or for ever; close it when done."""
        subscribe = self._channel(self.node.stream).unary_stream(
            _SUBSCRIBE,
            request_serializer=SubscribeStreamRequest.SerializeToString,
            response_deserializer=SubscribeStreamResponse.FromString,
        )
        request = SubscribeStreamRequest(
            start_block_number=start, end_block_number=WITHOUT_END if end is None else end
        )
        return Subscription(subscribe(request), self.node, self._limits, seconds_per_block)

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


class Subscription:
    """A stream of blocks. A thread reads their items as they arrive, and a few blocks ahead."""

    def __init__(self, call: Any, node: BlockNode, limits: Limits, seconds_per_block: float) -> None:
        self._call = call
        self._node = node
        self._seconds = seconds_per_block
        self._assembler = Assembler(node.name, limits)
        self._blocks: queue.Queue[StreamedBlock | StreamFileError | None] = queue.Queue(_AHEAD)
        self._closed = threading.Event()
        # Since when the node has been waited for (monotonic seconds); None while it waits for the reader.
        self._waiting_since: float | None = time.monotonic()
        #: Whether the node has sent all that was asked for.
        self.has_ended = False
        threading.Thread(target=self._receive, name="block node", daemon=True).start()

    def next(self, seconds: float) -> StreamedBlock | None:
        """Return the next block; None if there is none within this time, or has_ended.

        Errors: BlockNodeFailure, also once a block has not come in its time; StreamFileError.
        """
        try:
            block = self._blocks.get(timeout=seconds) if seconds else self._blocks.get_nowait()
        except queue.Empty:
            since = self._waiting_since
            if since is not None and time.monotonic() - since > self._seconds:
                raise self._failure("has not sent a whole block in time") from None
            return None
        if isinstance(block, StreamFileError):
            raise block
        self.has_ended = block is None
        return block

    def close(self) -> None:
        self._closed.set()
        self._call.cancel()

    # IN THE THREAD

    def _receive(self) -> None:
        last: StreamFileError | None
        try:
            last = self._assemble()
        except StreamFileError as error:
            last = error
        except grpc.RpcError as error:
            last = self._failure(f"has failed: {_reason(error)}")
        except Exception as error:
            # Whoever waits has to know.
            last = self._failure(f"sends what can't be read: {type(error).__name__}: {error}")
        self._put(last)

    def _assemble(self) -> StreamFileError | None:
        """Put every block; return why there are no more, None if all has come that was asked for."""
        for message in self._call:
            is_status = message.WhichOneof("response") == "status"
            if is_status and message.status == SubscribeStreamResponse.SUCCESS:
                if self._assembler.is_pending:
                    return self._failure("has ended the stream within a block")
                return None
            file = self._assembler.take(message)
            if file is None:
                continue
            number, arrived = message.end_of_block.block_number, self._assembler.last_item_at
            if not self._put(StreamedBlock(number, file, arrived, self._node)):
                return None
        return self._failure("has ended the stream, which has no end")

    def _put(self, block: StreamedBlock | StreamFileError | None) -> bool:
        self._waiting_since = None
        while not self._closed.is_set():
            with suppress(queue.Full):
                self._blocks.put(block, timeout=_LOOK_SECONDS)
                self._waiting_since = time.monotonic()
                return True
        return False

    def _failure(self, cause: str) -> BlockNodeFailure:
        return BlockNodeFailure(self._node.name, 0, f"the block node {cause}", ANOTHER_NODE)


def _reason(error: Any) -> str:
    code = error.code().name if hasattr(error, "code") and error.code() else type(error).__name__
    details = error.details() if hasattr(error, "details") else ""
    return f"{code}: {details}" if details else code
