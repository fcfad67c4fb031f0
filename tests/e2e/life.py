"""The life of a simulated network: its blocks, and what was true at many moments of it."""

import pickle
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from random import Random

from ledger.stream.record.compose import Block
from mirror.demo.actions import ALL
from mirror.demo.actions.network import genesis
from mirror.demo.keys.nodes import nodes
from mirror.demo.network import START, Network
from mirror.demo.world.world import World
from tests.e2e.forms import NANOS_PER_SECOND

_MINUTE = 60 * NANOS_PER_SECOND
_HOUR, _DAY = 60 * _MINUTE, 1440 * _MINUTE
# How long nothing happens between two blocks: mostly not at all, now and then into the next month.
_PAUSES = (0, 0, 0, 0, _MINUTE, 10 * _MINUTE, 20 * _MINUTE, 2 * _HOUR, _DAY, 9 * _DAY)
_PAUSES_WEIGHTS = (6, 6, 6, 6, 4, 4, 4, 4, 2, 1)
_PEOPLE = 30

# When the mirror takes snapshots of balances: after a file, but not at once and not too often.
_FIRST_SNAPSHOT = 2 * _MINUTE
_BETWEEN_SNAPSHOTS = 15 * _MINUTE


@dataclass
class Moment:
    """The world as it was at `since` and until just before `until` (ns), the time of the next transaction.

    `supplies` is how much there was of each token.
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
def _world(kept: bytes) -> World:
    # All of them would fill the memory.
    world: World = pickle.loads(kept)
    return world


@dataclass(frozen=True)
class Snapshot:
    """What the mirror knows of balances by a snapshot: of accounts, and by account and token.

    Of accounts that are associated with a token no more it may know, too: that they have nothing.
    """

    at: int
    accounts: dict[int, int]
    tokens: dict[tuple[int, int], int]


class Life:
    """What becomes of a seed's network. `blocks[n]` ends at `ends[n]`; `moments` are these and others.

    `snapshots` are those that the mirror takes of balances, at the ends of blocks.
    """

    def __init__(self, seed: int) -> None:
        self.choose = Random(seed)
        self.network = Network(seed, ALL, nodes=nodes(), start=START + self.choose.randrange(20, 31) * _DAY)
        self.blocks: list[Block] = []
        self.ends: list[Moment] = []
        self.moments: list[Moment] = []
        self.snapshots: list[Snapshot] = []
        genesis.begin(self.network, _PEOPLE)
        self._close()
        # Staking counts from the first day whose end has a snapshot before it.
        self._live(20 * _MINUTE, 1)

    @property
    def transactions(self) -> int:
        return sum(len(block.transactions) for block in self.blocks)

    def go_on(self, transactions: int) -> None:
        """Live for one more block, after a pause; a long one takes some more."""
        pause = self.choose.choices(_PAUSES, _PAUSES_WEIGHTS)[0]
        while pause > _DAY:
            # The network ends every day by itself.
            self._live(_DAY, 1)
            pause -= _DAY
        self._live(pause, transactions)

    def _live(self, pause: int, transactions: int) -> None:
        self.network.skip(pause)
        before = self.choose.randrange(transactions)
        if before:
            self._act(before)
            self._keep(self.network.now - 1)
        self._act(transactions - before)
        self._close()

    def _act(self, transactions: int) -> None:
        self.moments[-1].until = self.network.now
        self.network.act(transactions)

    def _close(self) -> None:
        self.blocks.append(self.network.close())
        self._keep(self.blocks[-1].transactions[-1].consensus_timestamp)
        self.ends.append(self.moments[-1])
        if self._snapshot_is_due():
            self.snapshots.append(self._snapshot())

    # WHAT THE MIRROR KEEPS OF BALANCES

    def snapshot_at(self, upper: int, blocks: int) -> Snapshot | None:
        """The last snapshot by a time, of those of the first blocks; none older than the month before."""
        until = min(upper, self.ends[blocks - 1].since)
        taken = [one for one in self.snapshots if month(upper, before=1) <= one.at <= until]
        return taken[-1] if taken else None

    def _snapshot_is_due(self) -> bool:
        last = self.snapshots[-1].at if self.snapshots else self.ends[0].since + _FIRST_SNAPSHOT
        return self.ends[-1].since - last >= _BETWEEN_SNAPSHOTS

    def _snapshot(self) -> Snapshot:
        """The first of a month holds all; one after it what changed, beside what is known of the month."""
        now, world = self.ends[-1].since, self.network.world
        previous = self.snapshots[-1] if self.snapshots else None
        changed_since = previous.at if previous and now - previous.at < 30 * _DAY else 0
        full = previous is None or previous.at < month(now)
        accounts = {} if previous is None or full else dict(previous.accounts)
        for account in world.accounts.values():
            changed = max(account.created, account.balance_timestamp) > changed_since
            if changed or (full and not account.deleted):
                accounts[account.number] = account.balance
        tokens = {
            (holder, token.number): one.balance
            for token in world.tokens.issued.values()
            for holder, one in token.relationships.items()
        }
        return Snapshot(now, accounts, tokens)

    # MOMENTS

    def known(self, blocks: int) -> list[Moment]:
        """The moments until the end of the first so many blocks."""
        return [one for one in self.moments if one.since <= self.ends[blocks - 1].since]

    def _keep(self, since: int) -> None:
        # Plain data is copied faster this way than by deepcopy.
        kept = pickle.dumps(self.network.world, pickle.HIGHEST_PROTOCOL)
        supplies = {token.number: token.supply for token in self.network.world.tokens.issued.values()}
        self.moments.append(Moment(since, self.network.now, supplies, kept))


def month(nanoseconds: int, before: int = 0) -> int:
    """The start (ns) of the month, or of that so many months before."""
    day = datetime.fromtimestamp(nanoseconds // NANOS_PER_SECOND, UTC)
    months = day.year * 12 + day.month - 1 - before
    start = datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)
    return int(start.timestamp()) * NANOS_PER_SECOND
