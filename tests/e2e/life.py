"""The life of a simulated network: its blocks, and what was true at many moments of it."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from random import Random

from ledger.stream.compose import Block
from ledger.stream.demo import people
from ledger.stream.demo.actions import ALL
from ledger.stream.demo.network import START, Network
from ledger.stream.demo.nodes import nodes
from ledger.stream.demo.world import World
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
    """The world as it was at `since` and until just before `until` (ns), the time of the next transaction."""

    since: int
    until: int
    _kept: bytes

    @cached_property
    def world(self) -> World:
        world: World = pickle.loads(self._kept)
        return world

    def any_time(self, choose: Random) -> int:
        return choose.choice((self.since, self.until - 1, choose.randrange(self.since, self.until)))


@dataclass(frozen=True)
class Snapshot:
    """What the mirror knows of balances by a snapshot: of accounts, and by account and token.

    Of accounts that are associated with a token no more it may know, too: that they have nothing.
    """

    at: int
    accounts: dict[int, int]
    tokens: dict[tuple[int, int], int]


class Life:
    """What becomes of a seed's network. `blocks[n]` ends at `ends[n]`; `moments` are these and others."""

    def __init__(self, seed: int) -> None:
        self.choose = Random(seed)
        self.network = Network(seed, ALL, nodes=nodes(), start=START + self.choose.randrange(20, 31) * _DAY)
        self.blocks: list[Block] = []
        self.ends: list[Moment] = []
        self.moments: list[Moment] = []
        people.begin(self.network, _PEOPLE)
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

    def _keep(self, since: int) -> None:
        # Plain data is copied faster this way than by deepcopy.
        kept = pickle.dumps(self.network.world, pickle.HIGHEST_PROTOCOL)
        self.moments.append(Moment(since, self.network.now, kept))


def month(nanoseconds: int, before: int = 0) -> int:
    """The start (ns) of the month, or of that so many months before."""
    day = datetime.fromtimestamp(nanoseconds // NANOS_PER_SECOND, UTC)
    months = day.year * 12 + day.month - 1 - before
    start = datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)
    return int(start.timestamp()) * NANOS_PER_SECOND


def snapshots(life: Life, blocks: int) -> list[Snapshot]:
    """The snapshots that the mirror takes of the first `blocks` blocks.

    The first of a month holds all, those after it what changed, beside what is known of the month.
    """
    return list(_snapshots(life.ends[:blocks]))


def _snapshots(ends: list[Moment]) -> Iterator[Snapshot]:
    last = ends[0].since + _FIRST_SNAPSHOT
    previous: Snapshot | None = None
    for end in ends[1:]:
        if end.since - last < _BETWEEN_SNAPSHOTS:
            continue
        last = end.since
        accounts = dict[int, int]()
        changed_since = previous.at if previous and end.since - previous.at < 30 * _DAY else 0
        full = previous is None or previous.at < month(end.since)
        if previous and not full:
            accounts |= previous.accounts
        for account in end.world.accounts.values():
            if max(account.created, account.balance_timestamp) > changed_since or (
                full and not account.deleted
            ):
                accounts[account.number] = account.balance
        tokens = {
            (holder, token.number): one.balance
            for token in end.world.tokens.issued.values()
            for holder, one in token.relationships.items()
        }
        previous = Snapshot(end.since, accounts, tokens)
        yield previous


def snapshot_at(taken: list[Snapshot], upper: int) -> Snapshot | None:
    """The last snapshot by then, unless it is older than the month before."""
    found: Snapshot | None = None
    for snapshot in taken:
        if month(upper, before=1) <= snapshot.at <= upper:
            found = snapshot
    return found
