"""Two block nodes that misbehave repeatedly, next to a right one."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ledger.stream.source.block_node.api_pb2 import SubscribeStreamResponse
from ledger.stream.source.block_node.assembly import Limits
from mirror.demo.publish.block_node import BlockNodeServer
from tests.benchmarks.block_nodes.network import (
    OTHERS,
    Follower,
    Network,
    compare,
    composed,
    digests,
    load,
)
from tests.ledger.stream.source.block_node.faulty import Fault, FaultyNode

_LIMITS = Limits(items=20_000, block_bytes=8 << 20, message_bytes=3 << 20)
_BLOCKS, _TPS = 120, 20


class Brief(BlockNodeServer):
    """A right block node that ends each stream after one block, so that the others get their turn again."""

    def subscribe(self, request: Any, context: Any) -> Iterator[SubscribeStreamResponse]:
        request.end_block_number = request.start_block_number
        return super().subscribe(request, context)


class Plan:
    """As many faults as wanted, chosen by a seed; with each, the right node has some more blocks."""

    def __init__(self, network: Network, right: BlockNodeServer, faults: int, seed: int) -> None:
        self._network, self._right, self._faults = network, right, faults
        self._choose = random.Random(seed)
        self._lock = threading.Lock()
        self.planned = 0
        self.published = -1
        self._publish()

    def __call__(self) -> Fault | None:
        with self._lock:
            if self.planned >= self._faults or self._choose.random() < 0.3:
                return None
            self.planned += 1
            self._publish()
            # Each of them at least once, if there are enough.
            every = list(Fault)
            return every[self.planned - 1] if self.planned <= len(every) else self._choose.choice(every)

    def _publish(self) -> None:
        last = len(self._network.blocks) - 1
        until = last if self.planned >= self._faults else last * self.planned // self._faults
        while self.published < until:
            self.published += 1
            self._right.publish(self.published, self._network.blocks[self.published])


def run(folder: Path, faults: int, seed: int) -> bool:
    network = composed(folder / "network", _BLOCKS, _TPS, seed)
    expected = load(folder / "plain", network)
    began = time.monotonic()
    with Brief() as right:
        plan = Plan(network, right, faults, seed)
        made = [
            FaultyNode(
                network.blocks, plan, OTHERS, _LIMITS, may_send=lambda: plan.published, seed=seed + each
            )
            for each in range(2)
        ]
        with made[0] as one, made[1] as other:
            nodes = f"127.0.0.1:{one.port},127.0.0.1:{other.port},127.0.0.1:{right.port} priority=1"
            follower = Follower(
                folder / "followed",
                **network.variables
                | {
                    "SVC_MIRROR_IMPORTER_BLOCK_NODES": nodes,
                    "SVC_MIRROR_IMPORTER_BLOCK_STREAM_RESPONSETIMEOUT": "300ms",
                    "SVC_MIRROR_IMPORTER_BLOCK_STREAM_READMITDELAY": "300ms",
                    "SVC_MIRROR_IMPORTER_BLOCK_STREAM_MAXBLOCKITEMS": str(_LIMITS.items),
                    "SVC_MIRROR_IMPORTER_BLOCK_STREAM_MAXBLOCKSIZE": str(_LIMITS.block_bytes),
                    "SVC_MIRROR_IMPORTER_BLOCK_STREAM_MAXSTREAMRESPONSESIZE": str(_LIMITS.message_bytes),
                    "SVC_MIRROR_IMPORTER_DOWNLOADER_TIMEOUT": "500ms",
                    "SVC_MIRROR_LOGGING_LEVEL": "info",
                },
            )
            follower.start()
            follower.wait_for(max(network.blocks))
            follower.stop()
            done: Counter[Fault] = one.done + other.done
    print(
        f"{sum(done.values())} faults of {len(done)} kinds (seed {seed}) over {len(network.blocks)} blocks, "
        f"{time.monotonic() - began:.0f} s",
        flush=True,
    )
    for fault in Fault:
        print(f"  {done[fault]:3} {fault.value}")
    return compare(expected, digests(folder / "followed"))
