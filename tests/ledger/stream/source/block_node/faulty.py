"""Block nodes that misbehave, each time in another way, for tests and benchmarks."""

import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from enum import StrEnum
from typing import Any

import grpc

from ledger.stream.block.block_items import read_items
from ledger.stream.source.block_node.answers import UNBOUNDED
from ledger.stream.source.block_node.api_pb2 import (
    BlockEnd,
    BlockItemSet,
    ServerStatusRequest,
    ServerStatusResponse,
    SubscribeStreamRequest,
    SubscribeStreamResponse,
)
from ledger.stream.source.block_node.assembly import Limits
from mirror.core.values.hapi.messages import BlockItem, BlockProof
from mirror.demo.publish.block_node import items_of
from mirror.demo.streams.threshold_signer import ThresholdSigner

_LOOK_SECONDS = 0.01
_SERVICE = "org.hiero.block.api."


class Fault(StrEnum):
    """What a block node does wrong, once."""

    # It tells nothing of what it has, or nothing that is true.
    STATUS_STALLS = "does not answer what it has"
    STATUS_FAILS = "fails when asked what it has"
    STATUS_EMPTY = "says that it has nothing"
    STATUS_LIES = "says that it has every number there is"
    NOT_AVAILABLE = "does not have what it said it has"
    # It sends nothing more.
    SILENT = "sends nothing"
    STALLS = "sends half a block and then nothing"
    FAILS = "fails within a block"
    ENDS = "ends the stream within a block"
    SUCCEEDS = "says within a block that all is sent"
    SENDS_NONE = "says before any block that all is sent"
    ERROR = "ends the stream with an error"
    UNKNOWN_STATUS = "ends the stream with an unknown status"
    VANISHES = "closes its port for a while"
    RESETS = "resets its connections"
    FREEZES = "lets its connections hang"
    # It sends other messages.
    GARBAGE = "sends no message"
    NO_KIND = "sends a message of no kind"
    EMPTY_SETS = "sends sets without items"
    ENDS_OF_NOTHING = "ends blocks that it has not begun"
    # It sends other blocks.
    HALF = "ends a block after its half"
    HALF_AND_NEXT = "begins the next block within a block"
    SKIPS = "leaves a block out"
    REPEATS = "sends the block before again"
    OTHER_END = "ends a block as another one"
    OTHER_NUMBER = "gives a block another number"
    OTHER_SIGNATURE = "sends a block with the proof of another"
    OTHER_LEDGER = "sends a block that another network has signed"
    FLIPPED = "flips a bit"
    UNKNOWN_ITEM = "sends an unknown item"
    DROPPED = "leaves an item out"
    DOUBLED = "sends an item twice"
    SWAPPED = "sends items in another order"
    HEADLESS = "sends a block without a header"
    AFTERWARDS = "sends more items after the proof"
    # It sends too much.
    MANY_ITEMS = "sends a block of too many items"
    TINY_ITEMS = "sends a message of too many empty items"
    LARGE_BLOCK = "sends a block that is too large"
    LARGE_MESSAGE = "sends a message that is too large"
    LARGE_COMPRESSED = "sends a message that is too large once it is not compressed any more"

    @property
    def is_of_status(self) -> bool:
        return self.name.startswith("STATUS_")


class FaultyNode:
    """A block node with some blocks, by number, at a port of this machine. Use it with `with`.

    `plan` returns what it does next; None is to send the next block as it is. `may_send` tells how far that
    may go. The ledger of `other` is not that of the blocks.
    """

    def __init__(
        self,
        blocks: Mapping[int, bytes],
        plan: Callable[[], Fault | None],
        other: ThresholdSigner,
        limits: Limits,
        *,
        may_send: Callable[[], int] | None = None,
        seed: int = 1,
        away_seconds: float = 0.2,
    ) -> None:
        self._blocks, self._plan, self._other, self._limits = blocks, plan, other, limits
        self._may_send = may_send or (lambda: max(blocks))
        self._choose = random.Random(seed)
        self._away_seconds = away_seconds
        #: How often it has done what.
        self.done: Counter[Fault] = Counter()
        self._next: Fault | None = None
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server = grpc.server(ThreadPoolExecutor(32), options=[("grpc.max_receive_message_length", -1)])
        subscribe = grpc.unary_stream_rpc_method_handler(
            self.subscribe, SubscribeStreamRequest.FromString, lambda data: data
        )
        status = grpc.unary_unary_rpc_method_handler(
            self.status, ServerStatusRequest.FromString, ServerStatusResponse.SerializeToString
        )
        for service, methods in (
            ("BlockStreamSubscribeService", {"subscribeBlockStream": subscribe}),
            ("BlockNodeService", {"serverStatus": status}),
        ):
            self._server.add_generic_rpc_handlers(
                (grpc.method_handlers_generic_handler(_SERVICE + service, methods),)
            )
        self._forwarder = Forwarder(self._server.add_insecure_port("127.0.0.1:0"))
        self.port = self._forwarder.port

    def __enter__(self) -> "FaultyNode":
        self._server.start()
        self._next = self._plan()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopping.set()
        self._forwarder.close()
        self._server.stop(grace=None).wait()

    # ANSWERS

    def status(self, request: Any, context: Any) -> ServerStatusResponse:
        fault = self._take(of_status=True)
        first, last = min(self._blocks), min(max(self._blocks), self._may_send())
        if fault is Fault.STATUS_STALLS:
            self._wait_while_asked(context)
        elif fault is Fault.STATUS_FAILS:
            context.abort(grpc.StatusCode.INTERNAL, "a fault")
        elif fault is Fault.STATUS_EMPTY:
            first = last = UNBOUNDED
        elif fault is Fault.STATUS_LIES:
            first, last = 0, UNBOUNDED
        return ServerStatusResponse(first_available_block=first, last_available_block=last)

    def subscribe(self, request: Any, context: Any) -> Iterator[bytes]:
        number = request.start_block_number
        while context.is_active() and not self._stopping.is_set():
            fault = self._take(of_status=False)
            if number not in self._blocks:
                yield _status(SubscribeStreamResponse.NOT_AVAILABLE)
                return
            if fault is None:
                if number > self._may_send():
                    yield _status(SubscribeStreamResponse.SUCCESS)
                    return
                yield from _whole(number, items_of(self._blocks[number]))
                if self._next and self._next.is_of_status:
                    # What is done next needs another question.
                    yield _status(SubscribeStreamResponse.SUCCESS)
                    return
                number += 1
                continue
            yield from self._wrong(fault, number, context)
            # Some of it may have been harmless, as a flipped bit that nothing depends on: then it goes on.
            if fault in _ENDING or self._has_left(context):
                return
            if fault in (Fault.EMPTY_SETS, Fault.ENDS_OF_NOTHING):
                continue
            number += 1

    def _take(self, *, of_status: bool) -> Fault | None:
        """Return what is to be done now, if it is of that kind."""
        with self._lock:
            fault = self._next
            if fault is None:
                if not of_status:
                    self._next = self._plan()
                return None
            if fault.is_of_status != of_status:
                return None
            self.done[fault] += 1
            self._next = self._plan()
            return fault

    def _wait_while_asked(self, context: Any) -> None:
        while context.is_active() and not self._stopping.is_set():
            time.sleep(_LOOK_SECONDS)

    def _has_left(self, context: Any) -> bool:
        until = time.monotonic() + self._away_seconds
        while context.is_active() and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
        return not context.is_active()

    # FAULTS

    def _wrong(self, fault: Fault, number: int, context: Any) -> Iterator[bytes]:
        items = items_of(self._blocks[number])
        half = items[: max(1, len(items) // 2)]
        match fault:
            case Fault.NOT_AVAILABLE:
                yield _status(SubscribeStreamResponse.NOT_AVAILABLE)
            case Fault.SILENT:
                self._wait_while_asked(context)
            case Fault.STALLS:
                yield _set(half)
                self._wait_while_asked(context)
            case Fault.FAILS:
                yield _set(half)
                context.abort(grpc.StatusCode.INTERNAL, "a fault")
            case Fault.ENDS:
                yield _set(half)
            case Fault.SUCCEEDS:
                yield _set(half)
                yield _status(SubscribeStreamResponse.SUCCESS)
            case Fault.SENDS_NONE:
                yield _status(SubscribeStreamResponse.SUCCESS)
            case Fault.ERROR:
                yield _status(self._choose.choice([0, 2, 3, 4, 5, 6]))
            case Fault.UNKNOWN_STATUS:
                yield _status(77)
            case Fault.VANISHES:
                yield _set(half)
                self._forwarder.vanish(self._away_seconds)
            case Fault.RESETS:
                yield _set(half)
                self._forwarder.reset()
            case Fault.FREEZES:
                yield _set(half)
                self._forwarder.freeze()
                self._has_left(context)
                self._forwarder.reset()
            case Fault.GARBAGE:
                yield b"\xff\xff\xff"
            case Fault.NO_KIND:
                yield b""
            case Fault.EMPTY_SETS:
                yield _set([])
                yield _set([])
            case Fault.ENDS_OF_NOTHING:
                yield _end(number)
                yield _end(number + 1)
            case _ if fault in TOO_MUCH:
                yield from self._too_much(fault, items, context)
            case _:
                yield from self._another_block(fault, number, items)

    def _another_block(self, fault: Fault, number: int, items: list[bytes]) -> Iterator[bytes]:
        half, inside = items[: max(1, len(items) // 2)], self._choose.randrange(1, len(items) - 2)
        changed = list(items)
        match fault:
            case Fault.HALF:
                yield from _whole(number, half)
                return
            case Fault.HALF_AND_NEXT:
                yield _set(half)
                yield from _whole(number + 1, items_of(self._blocks.get(number + 1, self._blocks[number])))
                return
            case Fault.SKIPS | Fault.REPEATS:
                wrong = number + (1 if fault is Fault.SKIPS else -1)
                wrong = wrong if wrong in self._blocks else max(self._blocks)
                yield from _whole(wrong, items_of(self._blocks[wrong]))
                return
            case Fault.OTHER_END:
                yield from _whole(number + self._choose.choice([-1, 1, 1000]) & UNBOUNDED, items)
                return
            case Fault.OTHER_NUMBER:
                header = BlockItem.FromString(items[0])
                header.block_header.number += 1
                changed[0] = header.SerializeToString()
            case Fault.OTHER_SIGNATURE:
                other = self._blocks.get(number + 1, self._blocks[min(self._blocks)])
                changed[-1] = items_of(other)[-1]
                if changed[-1] == items[-1]:
                    changed.pop()
            case Fault.OTHER_LEDGER:
                root = read_items("faulty", self._blocks[number]).root_hash()
                proof = BlockProof(
                    block=number, signed_block_proof={"block_signature": self._other.sign(root)}
                )
                changed[-1] = BlockItem(block_proof=proof).SerializeToString()
            case Fault.FLIPPED:
                at = self._choose.randrange(len(items))
                data = bytearray(items[at])
                data[self._choose.randrange(len(data))] ^= 1 << self._choose.randrange(8)
                changed[at] = bytes(data)
            case Fault.UNKNOWN_ITEM:
                # A field of a number that no kind of item has.
                changed.insert(inside, b"\xca\x3e\x02ab")
            case Fault.DROPPED:
                del changed[inside]
            case Fault.DOUBLED:
                changed.insert(inside, changed[inside])
            case Fault.SWAPPED:
                changed[inside], changed[inside + 1] = changed[inside + 1], changed[inside]
            case Fault.HEADLESS:
                del changed[0]
            case Fault.AFTERWARDS:
                changed.append(items[1])
            case _:
                raise AssertionError(fault)
        yield from _whole(number, changed)

    def _too_much(self, fault: Fault, items: list[bytes], context: Any) -> Iterator[bytes]:
        limits = self._limits
        filler = BlockItem(event_header={}).SerializeToString()
        if fault is Fault.LARGE_COMPRESSED:
            context.set_compression(grpc.Compression.Gzip)
        yield _set(items[:2])
        match fault:
            case Fault.MANY_ITEMS:
                sent = 0
                while sent <= limits.items and context.is_active():
                    yield _set([filler] * 1000)
                    sent += 1000
            case Fault.TINY_ITEMS:
                yield _set([b""] * min(limits.items + 1, limits.message_bytes // 2 - 16))
                yield _set([b""] * limits.items)
            case Fault.LARGE_BLOCK:
                size, sent = limits.message_bytes // 2, 0
                large = BlockItem(signed_transaction=bytes(size)).SerializeToString()
                while sent <= limits.block_bytes and context.is_active():
                    yield _set([large])
                    sent += size
            case _:
                yield _set([BlockItem(signed_transaction=bytes(limits.message_bytes)).SerializeToString()])


#: It sends more than a block or a message may have.
TOO_MUCH = {
    Fault.MANY_ITEMS,
    Fault.TINY_ITEMS,
    Fault.LARGE_BLOCK,
    Fault.LARGE_MESSAGE,
    Fault.LARGE_COMPRESSED,
}
# After these there is no stream any more.
_ENDING = {
    Fault.NOT_AVAILABLE,
    Fault.ENDS,
    Fault.SUCCEEDS,
    Fault.SENDS_NONE,
    Fault.ERROR,
    Fault.UNKNOWN_STATUS,
    Fault.FAILS,
    Fault.VANISHES,
    Fault.RESETS,
    Fault.FREEZES,
}


class Forwarder:
    """A port that passes connections on to another one of this machine, until it does something else."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._frozen = False
        self._lock = threading.Lock()
        self._closed = False
        self._accept_in_a_thread()

    def close(self) -> None:
        self._closed = True
        self._shut()
        self.reset()

    def reset(self) -> None:
        """Reset every connection."""
        with self._lock:
            broken, self._open = self._open, []
            self._frozen = False
        for each in broken:
            with suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            _wake(each)

    def freeze(self) -> None:
        """Let the connections hang until they are reset."""
        self._frozen = True

    def vanish(self, seconds: float) -> None:
        """Reset every connection, and refuse new ones for a while."""
        self._shut()
        self.reset()
        threading.Timer(seconds, self._come_back).start()

    def _shut(self) -> None:
        _wake(self._listener)

    def _come_back(self) -> None:
        if not self._closed:
            self._listener = socket.create_server(("127.0.0.1", self.port))
            self._accept_in_a_thread()

    def _accept_in_a_thread(self) -> None:
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                with self._lock:
                    self._open += [client, server]
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                while self._frozen:
                    time.sleep(_LOOK_SECONDS)
                other.sendall(data)
        for each in (one, other):
            _wake(each)


def _wake(connection: socket.socket) -> None:
    """Close a socket that another thread may be waiting for."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        connection.close()


# MESSAGES


def _whole(number: int, items: list[bytes]) -> Iterator[bytes]:
    middle = len(items) // 2
    yield _set(items[:middle])
    yield _set(items[middle:])
    yield _end(number)


def _set(items: list[bytes]) -> bytes:
    return _data(block_items=BlockItemSet(block_items=items))


def _end(number: int) -> bytes:
    return _data(end_of_block=BlockEnd(block_number=number))


def _status(code: int) -> bytes:
    return _data(status=code)


def _data(**response: Any) -> bytes:
    serialized: bytes = SubscribeStreamResponse(**response).SerializeToString()
    return serialized
