"""Two block nodes of which one is quicker, until they change places, and once more."""

import threading
import time
from dataclasses import dataclass, field

from ledger.ingest.following.configured_blocks import open_block_source
from ledger.stream.errors import StreamFileError
from ledger.stream.source.stream_blocks import BlockSource
from mirror.core import config
from mirror.demo.publish.block_node import BlockNodeServer
from tests.ledger.stream.block.blocks import BlockStream

_QUICK, _SLOW = 0.02, 0.25
_SECONDS_BETWEEN_BLOCKS = 0.4
_SECONDS_OF_PHASE = 25.0
_PAUSE_SECONDS = 0.1
_EVERY, _AT_MOST_EVERY = 1.0, 3.0


@dataclass
class Nodes:
    """Two block nodes, each with the seconds from the end of a block until it has it."""

    servers: list[BlockNodeServer]
    delays: list[float]
    stopping: threading.Event = field(default_factory=threading.Event)

    def publish(self) -> None:
        """Make a block every now and then, until stopped."""
        stream = BlockStream()
        while not self.stopping.wait(_SECONDS_BETWEEN_BLOCKS):
            stream.consensus_timestamp = time.time_ns()
            stream.happen("cryptoTransfer")
            block = stream.block()
            for server, delay in zip(self.servers, self.delays, strict=True):
                threading.Timer(delay, server.publish, (block.number, block.content)).start()


def run() -> bool:
    """Print how soon the quicker one is chosen in each phase; return whether it always is."""
    with BlockNodeServer() as one, BlockNodeServer() as other:
        addresses = [f"127.0.0.1:{server.port}" for server in (one, other)]
        restore = config.overridden(
            {
                "importer.block.sourceType": "BLOCK_NODE",
                "importer.block.autoDiscoveryEnabled": False,
                "importer.block.nodes": tuple(addresses),
                "importer.block.scheduler.latency.frequency": _EVERY,
                "importer.block.scheduler.minRescheduleInterval": _AT_MOST_EVERY,
            }
        )
        nodes = Nodes([one, other], [_SLOW, _QUICK])
        publishing = threading.Thread(target=nodes.publish)
        publishing.start()
        source = open_block_source()
        number, right = 0, True
        try:
            for phase in range(3):
                nodes.delays.reverse()
                quicker = addresses[nodes.delays.index(_QUICK)]
                number, since = _follow(source, number, quicker)
                latencies = {each["name"]: each["latency_ms"] for each in source.status()["nodes"]}
                right = right and since is not None
                after = "never" if since is None else f"after {since:.1f} s, for good"
                print(
                    f"phase {phase + 1}: the quicker one is chosen {after}; "
                    f"{latencies[quicker]} ms, the other "
                    f"{next(ms for name, ms in latencies.items() if name != quicker)} ms",
                    flush=True,
                )
        finally:
            nodes.stopping.set()
            publishing.join()
            source.close()
            restore.close()
    print(f"{number} blocks came one after another, each once", flush=True)
    return right


def _follow(source: BlockSource, number: int, quicker: str) -> tuple[int, float | None]:
    """Follow for a phase; return the next number, and since when the quicker node was used to the end (s)."""
    began, since = time.monotonic(), None
    while time.monotonic() - began < _SECONDS_OF_PHASE:
        try:
            block = source.next(number, 0.1)
        except StreamFileError:
            # No node has it yet, or each is busy.
            time.sleep(_PAUSE_SECONDS)
            continue
        if block:
            assert block.number == number
            number += 1
        used = next((each["name"] for each in source.status()["nodes"] if each["used"]), "")
        if used == quicker:
            since = since if since is not None else time.monotonic() - began
        elif used:
            since = None
    return number, since
