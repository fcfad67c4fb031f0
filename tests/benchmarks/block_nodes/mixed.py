"""Two block nodes with good and bad minutes: how far is the head of the stream behind?"""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import grpc

from ledger.ingest.following.configured_blocks import open_block_source
from ledger.ingest.following.follower import RetryState
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.quorum import ConsensusMode, Quorum
from ledger.stream.source.block_node.api_pb2 import SubscribeStreamResponse
from mirror.core import config
from mirror.demo.publish.block_node import BlockNodeServer
from mirror.demo.streams.threshold_signer import ThresholdSigner
from tests.ledger.stream.block.blocks import BlockStream

_NODES, _OTHERS = ThresholdSigner({0: 10}, "the network"), ThresholdSigner({0: 10}, "another network")
_BAD = ("is silent", "stalls within a block", "ends within a block", "fails", "forges", "hides its blocks")
_SECONDS_BETWEEN_BLOCKS = 2.0
_MAX_BEHIND, _MAX_PAUSE = 10.0, 2.0
_MINUTE = 60.0


class Mixed(BlockNodeServer):
    """A block node that does each second block wrong in a bad minute, always in the way of that minute."""

    def __init__(self) -> None:
        super().__init__()
        self.bad = ""
        self.done: Counter[str] = Counter()
        self.forged: dict[int, bytes] = {}
        self._turn = False

    def status(self, request: Any, context: Any) -> Any:
        status = super().status(request, context)
        if self.bad == "hides its blocks":
            status.last_available_block = max(status.last_available_block - 5, 0)
        return status

    def subscribe(self, request: Any, context: Any) -> Iterator[SubscribeStreamResponse]:
        number = request.start_block_number
        for message in super().subscribe(request, context):
            part = message.WhichOneof("response")
            kind, is_end = self.bad, part == "end_of_block"
            self._turn ^= is_end
            number += is_end
            if not kind or not self._turn or part != "block_items":
                yield message
                continue
            self.done[kind] += 1
            self._turn = False
            if kind == "forges":
                yield next(iter(self.messages(number, self.forged[number])))
                continue
            if "within" in kind:
                del message.block_items.block_items[2:]
                yield message
            if kind == "fails":
                context.abort(grpc.StatusCode.INTERNAL, "a fault")
            if kind == "ends within a block":
                return
            while context.is_active() and not self._stopping.is_set():
                time.sleep(0.1)
            return


def run(minutes: int, seed: int) -> bool:
    """Follow both for so many minutes; print how far behind it was, and return whether 10 s is the most."""
    choose, stopping = random.Random(seed), threading.Event()
    published: dict[int, float] = {}
    with Mixed() as one, Mixed() as other:
        restore = config.overridden(
            {
                "importer.block.sourceType": "BLOCK_NODE",
                "importer.block.autoDiscoveryEnabled": False,
                "importer.block.nodes": (f"127.0.0.1:{one.port}", f"127.0.0.1:{other.port} priority=1"),
            }
        )
        publishing = threading.Thread(target=_publish, args=([one, other], published, stopping))
        publishing.start()
        source = open_block_source()
        try:
            behind = _follow(source, [one, other], published, minutes, choose)
        finally:
            stopping.set()
            publishing.join()
            source.close()
            restore.close()
    worst = sorted(behind, reverse=True)
    print(f"{len(behind)} blocks in {minutes} minutes (seed {seed}); bad: {dict(one.done + other.done)}")
    print(f"at most {worst[0]:.1f} s behind; more than 5 s: {sum(each > 5 for each in behind)} blocks")
    print(f"median {worst[len(worst) // 2]:.2f} s, 99 % within {worst[len(worst) // 100]:.1f} s", flush=True)
    return worst[0] <= _MAX_BEHIND


def _publish(servers: list[Mixed], published: dict[int, float], stopping: threading.Event) -> None:
    stream, forger = BlockStream(signer=_NODES), BlockStream(signer=_OTHERS)
    while not stopping.wait(_SECONDS_BETWEEN_BLOCKS):
        for each in (stream, forger):
            each.consensus_timestamp = time.time_ns()
            each.happen("cryptoTransfer")
        block, forged = stream.block(), forger.block()
        published[block.number] = time.monotonic()
        for server in servers:
            server.forged[block.number] = forged.content
            server.publish(block.number, block.content)


def _follow(
    source: Any, servers: list[Mixed], published: dict[int, float], minutes: int, choose: random.Random
) -> list[float]:
    """Return for each block how long after its publication it was verified (s)."""
    quorum = Quorum.from_address_book([], {}, ConsensusMode.STAKE, Fraction(1, 3), _NODES.identity)
    retries = RetryState(config.value("importer.block.frequency"), _MAX_PAUSE, None)
    behind: list[float] = []
    began, minute = time.monotonic(), -1
    while (now := time.monotonic() - began) < minutes * _MINUTE or len(behind) < len(published):
        if now // _MINUTE > minute:
            minute = int(now // _MINUTE)
            # At each time one of them is good, and neither is for long.
            bad = choose.randrange(3)
            for place, server in enumerate(servers):
                server.bad = choose.choice(_BAD) if place == bad and minute < minutes else ""
        try:
            block = source.next(len(behind), 0.5)
            if block is None:
                continue
            try:
                block.verify(lambda at: quorum, sidecars=True)
            except StreamFileError as error:
                source.reject(error.cause)
                raise
        except StreamFileError as error:
            retries.note(error)
            time.sleep(retries.pause)
            continue
        retries.end()
        behind.append(time.monotonic() - published[len(behind)])
    return behind
