"""The history of the network, block by block.

The first block creates the accounts, files and nodes of the network and the first people. A history of N
blocks at T transactions per second has 2-second blocks of about 2 T transactions each. If it is spread over
some hours, time passes between the blocks.

A history of which blocks are written, from some number on, begins at a release of the network that names its
ledger; the last release before the blocks still writes record files, as in real networks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mirror.core import config
from mirror.core.values.timestamp import NANOS_PER_DAY, NANOS_PER_SECOND
from mirror.demo.actions import (
    allowances,
    batches,
    crypto,
    files,
    genesis,
    nodes,
    people,
    schedules,
    system,
    topics,
)
from mirror.demo.actions.contracts import calls, deploying, hooks, services
from mirror.demo.actions.tokens import changes, supply, transfers
from mirror.demo.network import START, Action, Network
from mirror.demo.streams.balance_files import compose_balances
from mirror.demo.streams.block_stream import BlockComposer, NativeBlock, WrappingComposer
from mirror.demo.streams.keys import block_signer
from mirror.demo.streams.record_files import Block
from mirror.demo.streams.signing import SigningNode
from mirror.demo.world.world import World

# Their order decides what a seed makes happen.
_MODULES: tuple[tuple[Action, ...], ...] = (
    *(crypto.ACTIONS, files.ACTIONS, topics.ACTIONS, batches.ACTIONS, nodes.ACTIONS),
    *(system.ACTIONS, schedules.ACTIONS, crypto.STAKING, people.ACTIONS, supply.ISSUING),
    *(changes.ACTIONS, supply.ACTIONS, changes.RELATIONSHIPS, transfers.ACTIONS),
    *(allowances.ACTIONS, transfers.AIRDROPS, deploying.ACTIONS, calls.ACTIONS),
    *(hooks.ACTIONS, calls.DELEGATIONS, services.ACTIONS),
)
#: All actions of people and administrators.
ALL = tuple(action for actions in _MODULES for action in actions)

BLOCK_SECONDS = 2
# The release in which networks go over from record files to blocks.
BLOCKS_VERSION = (0, 76, 0)
_ACTIVE = 1_900_000_000  # ns of a block
_MONTH = 30 * NANOS_PER_DAY


@dataclass(frozen=True)
class History:
    """A history of `blocks` at `tps` transactions per second, spread over `hours` if not 0.

    Record files are written of those before `blocks_from`; of all if that is None.
    """

    blocks: int
    tps: float
    seed: int
    hours: float = 0
    start: int = START
    blocks_from: int | None = None

    def play(self, nodes: Sequence[SigningNode]) -> Iterator[tuple[Network, Block]]:
        """Yield every block when it is closed, with the network at that time."""
        network = self._network(nodes)
        quiet = max(0.0, self.hours * 3600 - self.blocks * BLOCK_SECONDS) / max(1, self.blocks - 1)
        genesis.begin(network)
        # The number of the first block of the last release.
        upgraded = None if self.blocks_from is None else self.blocks_from // 2
        if upgraded == 1:
            network.upgrade(BLOCKS_VERSION)
        # A block of its own, so that fees and rates are known from the second in which the next one begins.
        yield network, network.close()
        for number in range(1, self.blocks):
            if number > 1:
                network.advance(int(network.choose.expovariate(1) * quiet * NANOS_PER_SECOND))
            if number + 1 == upgraded:
                network.upgrade(BLOCKS_VERSION)
            yield network, next_block(network, self.tps)

    def _network(self, nodes: Sequence[SigningNode]) -> Network:
        network = partial(Network, self.seed, ALL, nodes=nodes, start=self.start)
        if self.blocks_from is None:
            return network()
        version = genesis.VERSION if self.blocks_from > 1 else BLOCKS_VERSION
        return network(hapi_version=version, ledger=block_signer().identity)


def wait(network: Network, until: int) -> Iterator[Block]:
    """Let time pass until a time in ns, and yield the blocks on the way.

    After a pause of days, a block ends the staking period of the first day, and there is one more each month:
    the mirror computes staking rewards by days, from balances that are no older than a month.
    """
    while until >= (midnight := (network.now // NANOS_PER_DAY + 1) * NANOS_PER_DAY) + NANOS_PER_DAY:
        network.advance(midnight - network.now)
        network.run_due_events()
        yield network.close()
        if until < network.now + _MONTH:
            break
        network.advance(_MONTH - NANOS_PER_DAY)
    network.advance(max(0, until - network.now))


def next_block(network: Network, tps: float) -> Block:
    """Let people act for the time of a block, at least once: there are no empty blocks."""
    usual = tps * BLOCK_SECONDS
    network.act(max(1, round(network.choose.gauss(usual, usual / 5))), duration=_ACTIVE)
    return network.close()


class BlockWriter:
    """Writes record files into a bucket folder up to a block, and blocks from it on."""

    def __init__(self, folder: Path, network: str, *, blocks_from: int) -> None:
        self._folder = folder
        self._network = network
        self._blocks_from = blocks_from
        self._wrapping = WrappingComposer()
        self._composer = BlockComposer(block_signer())

    def write(self, block: Block) -> NativeBlock | None:
        """Write the next block in its form, and return it unless that is a record file."""
        if block.number < self._blocks_from:
            block.write(self._folder)
            self._wrapping.pass_by(block)
            self._composer.learn(block)
            self._composer.hash = self._wrapping.hash
            return None
        native = self._composer.block(block)
        native.write(self._folder / self._network)
        return native


class BalanceWriter:
    """Writes a balance file at the end of the first block of every `minutes` of the network's time."""

    def __init__(self, folder: Path, nodes: Sequence[SigningNode], minutes: float) -> None:
        self._folder = folder
        self._nodes = nodes
        self._every = round(minutes * 60 * NANOS_PER_SECOND)
        self._period = -1
        self.files = 0

    def after(self, world: World, block: Block) -> None:
        """Write the balances after a block, if it is the first of its period."""
        if not block.transactions:
            return
        at = max(each.consensus_timestamp for each in block.transactions)
        if at // self._every == self._period:
            return
        self._period = at // self._every
        compose_balances(at, holdings(world), nodes=self._nodes).write(self._folder)
        self.files += 1


def holdings(world: World) -> Iterator[tuple[int, int, dict[int, int]]]:
    """Yield each account (encoded) with its tinybars and its units by token (encoded), 0 included."""
    tokens: dict[int, dict[int, int]] = {}
    for token in world.tokens.issued.values():
        for holder, relationship in token.relationships.items():
            tokens.setdefault(holder, {})[config.own_id(token.number)] = relationship.balance
    for number, account in sorted(world.accounts.items()):
        if not account.deleted:
            yield config.own_id(number), account.balance, tokens.get(number, {})
