"""The block node of a simulated network: it serves blocks over gRPC, as those of real networks do."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import grpc

from ledger.stream import block_names
from ledger.stream.source.block_node.answers import UNBOUNDED
from ledger.stream.source.block_node.api_pb2 import (
    BlockEnd,
    BlockItemSet,
    ServerStatusRequest,
    ServerStatusResponse,
    SubscribeStreamRequest,
    SubscribeStreamResponse,
)
from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.logs import Echo
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import Block
from mirror.demo.publish.block_folder import BlockFolder

# Items are sent in sets of about so many bytes.
_SET_BYTES = 1 << 20
_STREAMS = 32
# So many are left for questions about the status and for refusals.
_SPARE_THREADS = 8
_WAITING_SECONDS = 0.5
# Two servers would share a port without a word.
_OPTIONS = (("grpc.so_reuseport", 0),)
_REFRESH_SECONDS = 1.0


class BlockNodeServer:
    """Blocks in memory or in a folder, served at a port of this machine (0: any that is free)."""

    def __init__(
        self, port: int = 0, *, folder: BlockFolder | None = None, streams: int = _STREAMS, named_by: str = ""
    ) -> None:
        """Serve at most `streams` clients at once; `named_by` says by what an operator names the port.

        Errors: OperatorError if another program has the port.
        """
        self._streams = threading.BoundedSemaphore(streams)
        self._published: dict[int, bytes] = {}
        self._folder = folder
        self._blocks: Mapping[int, bytes] = self._published if folder is None else folder
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._server = grpc.server(
            ThreadPoolExecutor(streams + _SPARE_THREADS, thread_name_prefix="block node"), options=_OPTIONS
        )
        subscribe = grpc.unary_stream_rpc_method_handler(
            self.subscribe, SubscribeStreamRequest.FromString, SubscribeStreamResponse.SerializeToString
        )
        status = grpc.unary_unary_rpc_method_handler(
            self.status, ServerStatusRequest.FromString, ServerStatusResponse.SerializeToString
        )
        for service, name, handler in (
            ("BlockStreamSubscribeService", "subscribeBlockStream", subscribe),
            ("BlockNodeService", "serverStatus", status),
        ):
            generic = grpc.method_handlers_generic_handler(f"org.hiero.block.api.{service}", {name: handler})
            self._server.add_generic_rpc_handlers((generic,))
        try:
            self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        except RuntimeError as error:
            raise OperatorError(
                f"Port {port} of 127.0.0.1 is taken by another program: stop that one, or name another port "
                f"for the block node by {named_by or config.lookup('demo.blockNodePort').variable}."
            ) from error

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        self._server.stop(grace=None).wait()

    def publish(self, number: int, block: bytes) -> None:
        """Serve a block, a serialized Block message, from now on."""
        with self._changed:
            self._published[number] = block
            self._changed.notify_all()

    def refresh(self) -> None:
        """Serve the blocks that are in the folder now."""
        with self._changed:
            if self._folder is not None:
                self._folder.refresh()
            self._changed.notify_all()

    # ANSWERS

    def status(self, request: Any, context: Any) -> ServerStatusResponse:
        with self._changed:
            first = min(self._blocks, default=UNBOUNDED)
            last = max(self._blocks, default=UNBOUNDED)
            return ServerStatusResponse(first_available_block=first, last_available_block=last)

    def subscribe(self, request: Any, context: Any) -> Iterator[SubscribeStreamResponse]:
        if not self._take_stream(context):
            yield SubscribeStreamResponse(status=SubscribeStreamResponse.ERROR)
            return
        number = request.start_block_number
        while request.end_block_number == UNBOUNDED or number <= request.end_block_number:
            block = self._wait_for(number, context)
            if block is None:
                if context.is_active() and not self._stopping.is_set():
                    yield SubscribeStreamResponse(status=SubscribeStreamResponse.NOT_AVAILABLE)
                return
            yield from self.messages(number, block)
            number += 1
        yield SubscribeStreamResponse(status=SubscribeStreamResponse.SUCCESS)

    def _take_stream(self, context: Any) -> bool:
        """Count a stream until it ends; False if there are as many as may be."""
        if not self._streams.acquire(blocking=False):
            return False
        if not context.add_callback(self._streams.release):
            # It has ended already.
            self._streams.release()
            return False
        return True

    def _wait_for(self, number: int, context: Any) -> bytes | None:
        """Return a block, once it is there; None if it will never be, or the client has disconnected."""
        with self._changed:
            while number not in self._blocks:
                is_past = bool(self._blocks) and number < max(self._blocks)
                if is_past or self._stopping.is_set() or not context.is_active():
                    return None
                self._changed.wait(_WAITING_SECONDS)
            return self._blocks.get(number)

    def messages(self, number: int, block: bytes) -> Iterator[SubscribeStreamResponse]:
        """Yield the messages of a block: its items in sets, and its end."""
        for items in _sets(items_of(block)):
            yield SubscribeStreamResponse(block_items=BlockItemSet(block_items=items))
        yield SubscribeStreamResponse(end_of_block=BlockEnd(block_number=number))


def items_of(block: bytes) -> list[bytes]:
    """Return the serialized items of a serialized Block message."""
    return [
        block[each.value : each.end] for each in wire.fields(block) if each.number == Block.ITEMS_FIELD_NUMBER
    ]


def _sets(items: Sequence[bytes]) -> Iterator[list[bytes]]:
    gathered: list[bytes] = []
    size = 0
    for item in items:
        gathered.append(item)
        size += len(item)
        if size >= _SET_BYTES:
            yield gathered
            gathered, size = [], 0
    if gathered:
        yield gathered


# SERVING A FOLDER, for tests of clients of block nodes
class NoBlocks(OperatorError):
    exit_code = 2


def serve(echo: Echo, folder: Path, port: int, stopping: threading.Event) -> None:
    """Serve the blocks below a folder, and those that are added to it, until stopped. Errors: OperatorError.

    The folder is that of a network, which has the folder `block`, or of a bucket; there the last network
    counts, as a network that began anew has a folder with the date.
    """
    network = folder
    if not (folder / block_names.FOLDER).is_dir():
        networks = [path.parent for path in folder.glob(f"*/{block_names.FOLDER}") if path.is_dir()]
        network = max(networks, key=lambda path: path.name, default=folder)
    blocks = BlockFolder(network)
    if not blocks:
        raise NoBlocks(
            f"There is no block below {folder}: name a folder with blocks in its folder `block`, or in that "
            "of one network, such as `manage.py demo --blocks-stream` makes."
        )
    with BlockNodeServer(port, folder=blocks, named_by="--port") as server:
        echo(
            f"A block node at 127.0.0.1:{server.port} serves the blocks {min(blocks)} to {max(blocks)} of "
            f"{network}{_missing(blocks)}. Ctrl-C stops it."
        )
        while not stopping.wait(_REFRESH_SECONDS):
            server.refresh()


def _missing(blocks: BlockFolder) -> str:
    """Return how many blocks between the first and the last one are missing, as the end of a sentence."""
    gaps = [(one + 1, other - 1) for one, other in pairwise(blocks) if other > one + 1]
    if not gaps:
        return ""
    count = sum(last - first + 1 for first, last in gaps)
    return f" (missing: {count:,}, from block {gaps[0][0]} on)"
