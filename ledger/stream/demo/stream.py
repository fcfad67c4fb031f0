"""The network's life as a stream: its history, block by block, and going on from where it was left.

A history of N blocks at T transactions per second has 2-second blocks of about 2 T transactions each. Spread
over some hours, there are quiet spells between the blocks.
"""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ledger.stream import names
from ledger.stream.compose import Block, account_folder
from ledger.stream.demo import actions, people
from ledger.stream.demo.network import START, Network
from ledger.stream.node_key import SigningNode
from ledger.stream.source import LocalRecordFile
from mirror.values.timestamp import NANOS_PER_SECOND

BLOCK_SECONDS = 2


@dataclass(frozen=True)
class History:
    """What a network has done: `blocks` at `tps` transactions per second, spread over `hours` if not 0."""

    blocks: int
    tps: float
    seed: int
    hours: float = 0
    start: int = START

    def play(self, nodes: Sequence[SigningNode]) -> Iterator[tuple[Network, Block]]:
        """Every block as it is closed, with the network as it is then."""
        network = Network(self.seed, actions.ALL, nodes=nodes, start=self.start)
        quiet = max(0.0, self.hours * 3600 - self.blocks * BLOCK_SECONDS) / max(1, self.blocks - 1)
        for number in range(self.blocks):
            if number == 0:
                people.begin(network)
            else:
                network.skip(int(network.choose.expovariate(1) * quiet * NANOS_PER_SECOND))
            yield network, next_block(network, self.tps)


def next_block(network: Network, tps: float) -> Block:
    """Let the network act for the time of a block. Without anything happening there would be no block."""
    usual = tps * BLOCK_SECONDS
    network.act(max(1, round(network.choose.gauss(usual, usual / 5))))
    return network.close()


class Publisher:
    """Writes blocks into a bucket folder and keeps, beside them, what it takes to go on after each.

    A block counts as made once the state after it is kept; it is published then, or when the network is
    resumed. So killed at any moment, the network goes on without a fork in its chain.
    """

    def __init__(self, folder: Path, nodes: Sequence[SigningNode]) -> None:
        self.folder = folder
        self._state = folder / "network.state"
        self._pending = folder / "pending"
        self._nodes = nodes

    def publish(self, network: Network, block: Block) -> LocalRecordFile:
        """Publish the next block of the network."""
        block.write(self._pending)
        written = self._state.with_suffix(".new")
        # Read back as Python objects: the folder has to be the node's own.
        written.write_bytes(pickle.dumps((network, block.name)))
        written.replace(self._state)
        self._move()
        return self.published(block.name)

    def resume(self) -> tuple[Network, LocalRecordFile] | None:
        """The network as it was left and its last block; None if there is none."""
        if not self._state.is_file():
            return None
        network, name = pickle.loads(self._state.read_bytes())
        for path in self._pending.rglob("*.rcd*"):
            if names.parse(path.name).time != names.parse(name).time:
                path.unlink()
        self._move()
        return network, self.published(name)

    def published(self, name: str) -> LocalRecordFile:
        """The files of a block that are published."""
        signature = names.signature_name(name)
        first, *others = (LocalRecordFile(name, self._of(node) / name, node.node_id) for node in self._nodes)
        signatures = {node.node_id: self._of(node) / signature for node in self._nodes}
        return replace(first, published=True, signatures=signatures, copies=tuple(others))

    def _of(self, node: SigningNode) -> Path:
        return self.folder / account_folder(node)

    def _move(self) -> None:
        for path in sorted(self._pending.rglob("*.rcd*")):
            target = self.folder / path.relative_to(self._pending)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
