"""The life of a simulated network: its blocks, and its world at many instants."""

import pickle
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from random import Random

from mirror.demo.actions import genesis
from mirror.demo.network import START, Network
from mirror.demo.publish.history import ALL
from mirror.demo.streams.keys import nodes
from mirror.demo.streams.record_files import Block
from mirror.demo.world.world import World
from tests.e2e.forms import NANOS_PER_SECOND

_MINUTE = 60 * NANOS_PER_SECOND
_HOUR, _DAY = 60 * _MINUTE, 1440 * _MINUTE
# Pauses between two blocks: mostly none, now and then until the next month.
_PAUSES = (0, 0, 0, 0, _MINUTE, 10 * _MINUTE, 20 * _MINUTE, 2 * _HOUR, _DAY, 9 * _DAY)
_PAUSES_WEIGHTS = (6, 6, 6, 6, 4, 4, 4, 4, 2, 1)
_PEOPLE = 30

# The mirror takes snapshots of balances after a file, but not at once and not too often.
_FIRST_SNAPSHOT = 2 * _MINUTE
_BETWEEN_SNAPSHOTS = 15 * _MINUTE


@dataclass
class Instant:
    """The world from `since` until just before `until` (ns), the time of the next transaction.

    `supplies` are the supplies of all tokens.
    """

    since: int
    until: int
    supplies: dict[int, int]
    _kept: bytes

    @property
    def world(self) -> World:
        return _world(self._kept)

    def any_time(self, choose: Random) -> int:
        return choose.choice((self.since, self.until - 1, choose.randrange(self.since, self.until)))


@lru_cache(maxsize=16)
def _world(pickled: bytes) -> World:
    # Not all of them fit into memory.
    world: World = pickle.loads(pickled)
    return world


@dataclass(frozen=True)
class Snapshot:
    """The balances that the mirror knows by a snapshot: by account, and by account and token.

    It may also hold a balance of 0 for accounts that are no longer associated with a token.
    """

    at: int
    accounts: dict[int, int]
    tokens: dict[tuple[int, int], int]


class Life:
    """The life of the network of a seed. `blocks[n]` ends at `ends[n]`; `instants` are these and others.

    `snapshots` are the snapshots of balances that the mirror takes at the ends of blocks.
    """

    def __init__(self, seed: int) -> None:
        self.choose = Random(seed)
        self.network = Network(seed, ALL, nodes=nodes(), start=START + self.choose.randrange(20, 31) * _DAY)
        self.blocks: list[Block] = []
        self.ends: list[Instant] = []
        self.instants: list[Instant] = []
        self.snapshots: list[Snapshot] = []
        genesis.begin(self.network, _PEOPLE)
        self._close()
        # Staking counts from the first day whose end has a snapshot before it.
        self._live(20 * _MINUTE, 1)

    @property
    def transactions(self) -> int:
        return sum(len(block.transactions) for block in self.blocks)

    def go_on(self, transactions: int) -> None:
        """Live for one more block after a pause; a long pause takes more blocks."""
        pause = self.choose.choices(_PAUSES, _PAUSES_WEIGHTS)[0]
        while pause > _DAY:
            # The network ends every day with a block of its own.
            self._live(_DAY, 1)
            pause -= _DAY
        self._live(pause, transactions)

    def _live(self, pause: int, transactions: int) -> None:
        self.network.advance(pause)
        before = self.choose.randrange(transactions)
        if before:
            self._act(before)
            self._keep(self.network.now - 1)
        self._act(transactions - before)
        self._close()

    def _act(self, transactions: int) -> None:
        self.instants[-1].until = self.network.now
        self.network.act(transactions)

    def _close(self) -> None:
        self.blocks.append(self.network.close())
        self._keep(self.blocks[-1].transactions[-1].consensus_timestamp)
        self.ends.append(self.instants[-1])
        if self._snapshot_is_due():
            self.snapshots.append(self._snapshot())

    # SNAPSHOTS OF BALANCES

    def snapshot_at(self, upper: int, blocks: int) -> Snapshot | None:
        """Return the last snapshot of the first blocks by a time; None if it is older than a month before."""
        until = min(upper, self.ends[blocks - 1].since)
        taken = [one for one in self.snapshots if month(upper, before=1) <= one.at <= until]
        return taken[-1] if taken else None

    def _snapshot_is_due(self) -> bool:
        last = self.snapshots[-1].at if self.snapshots else self.ends[0].since + _FIRST_SNAPSHOT
        return self.ends[-1].since - last >= _BETWEEN_SNAPSHOTS

    def _snapshot(self) -> Snapshot:
        """Take a snapshot. The first of a month holds all balances, later ones those that changed as well."""
        now, world = self.ends[-1].since, self.network.world
        previous = self.snapshots[-1] if self.snapshots else None
        changed_since = previous.at if previous and now - previous.at < 30 * _DAY else 0
        full = previous is None or previous.at < month(now)
        accounts = {} if previous is None or full else dict(previous.accounts)
        for account in world.accounts.values():
            changed = account.balance_timestamp > changed_since
            if changed or (full and not account.deleted):
                accounts[account.number] = account.balance
        tokens = {
            (holder, token.number): one.balance
            for token in world.tokens.issued.values()
            for holder, one in token.relationships.items()
        }
        return Snapshot(now, accounts, tokens)

    # MOMENTS

    def known(self, blocks: int) -> list[Instant]:
        """Return the instants until the end of the first `blocks` blocks."""
        return [one for one in self.instants if one.since <= self.ends[blocks - 1].since]

    def _keep(self, since: int) -> None:
        # Plain data is copied faster this way than by deepcopy.
        pickled = pickle.dumps(self.network.world, pickle.HIGHEST_PROTOCOL)
        supplies = {token.number: token.supply for token in self.network.world.tokens.issued.values()}
        self.instants.append(Instant(since, self.network.now, supplies, pickled))


def month(nanoseconds: int, before: int = 0) -> int:
    """Return the start (ns) of the month, or of the month `before` months earlier."""
    day = datetime.fromtimestamp(nanoseconds // NANOS_PER_SECOND, UTC)
    months = day.year * 12 + day.month - 1 - before
    start = datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)
    return int(start.timestamp()) * NANOS_PER_SECOND
