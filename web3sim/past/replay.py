"""Replaying all contract transactions of a range of time, in one process or several, and the sums of it."""

import multiprocessing
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from mirror.core import config
from web3sim.engine import registry
from web3sim.past import transactions as past
from web3sim.past.comparison import Replay, Replayed
from web3sim.past.recorded import read_recorded
from web3sim.state.database import Reading

# Transactions that are read, and given to a process, together.
_CHUNK = 25
# Fewer chunks than these are not worth starting processes.
_CHUNKS_OF_ONE_PROCESS = 4

MAX_INT64 = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Range:
    """Consensus timestamps in ns, both inclusive; of one contract if it is given."""

    first: int = 0
    last: int = MAX_INT64
    contract_id: int | None = None


@dataclass(slots=True)
class Totals:
    """By contract and function how many were replayed, and how many of them as recorded; by reason how many
    were left out; by function of a system contract how many calls were replayed as recorded.
    """

    replayed: Counter[tuple[str, str]] = field(default_factory=Counter)
    matching: Counter[tuple[str, str]] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    services: Counter[str] = field(default_factory=Counter)

    def add(self, replayed: Replayed) -> None:
        if replayed.skipped is not None:
            self.skipped[replayed.skipped] += 1
            return
        self.replayed[replayed.contract, replayed.function] += 1
        self.matching[replayed.contract, replayed.function] += not replayed.differences
        if not replayed.differences:
            self.services.update(replayed.services)


def count(range: Range) -> int:
    """Count the results of a range. Errors: DatabaseUnavailable."""
    # Index: the primary key (consensus_timestamp), or contract_result__id_timestamp of a contract.
    of_contract = "" if range.contract_id is None else "and contract_id = %(contract)s"
    row = Reading().fetch_one(
        f"""
        select count(*) from contract_result
        where consensus_timestamp between %(first)s and %(last)s {of_contract}
        """,
        {"first": range.first, "last": range.last, "contract": range.contract_id},
    )
    return 0 if row is None else int(row[0])


def replay(range: Range, engine: str, processes: int, report: Callable[[Replayed], None]) -> Totals:
    """Replay a range with an engine by name, and `report` each transaction, in order.

    Errors: LookupError for an unknown engine; DatabaseUnavailable.
    """
    registry.engine(engine)
    totals = Totals()
    with closing(_chunks(range, engine, processes)) as chunks:
        for replayed in chain.from_iterable(chunks):
            totals.add(replayed)
            report(replayed)
    return totals


def _chunks(range: Range, engine: str, processes: int) -> Generator[list[Replayed]]:
    subranges = _split(range)
    first = list(islice(subranges, _CHUNKS_OF_ONE_PROCESS))
    if processes == 1 or len(first) < _CHUNKS_OF_ONE_PROCESS:
        for subrange in (*first, *subranges):
            yield _replay_part(subrange, engine)
        return
    context = multiprocessing.get_context("spawn")
    arguments = config.values(), dict(connections.settings[DEFAULT_DB_ALIAS])
    with ProcessPoolExecutor(processes, context, _prepare, arguments) as pool:
        futures: deque[Future[list[Replayed]]] = deque()
        for subrange in (*first, *subranges):
            futures.append(pool.submit(_replay_part, subrange, engine))
            if len(futures) > 2 * processes:
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()


def _split(range: Range) -> Iterator[Range]:
    """The range in parts of so many transactions."""
    of_contract = "" if range.contract_id is None else "and contract_id = %(contract)s"
    first = range.first
    while True:
        # Index: as of `count`.
        rows = Reading().fetch(
            f"""
            select consensus_timestamp from contract_result
            where consensus_timestamp between %(first)s and %(last)s {of_contract}
            order by consensus_timestamp limit {_CHUNK}
            """,
            {"first": first, "last": range.last, "contract": range.contract_id},
        )
        if not rows:
            return
        last = rows[-1][0]
        yield Range(first, last, range.contract_id)
        first = last + 1


def _prepare(settings: dict[str, Any], database: dict[str, Any]) -> None:
    """Make a new process of this one's settings and database."""
    import django
    from django.conf import settings as django_settings

    config.overridden(settings)
    django_settings.DATABASES = {DEFAULT_DB_ALIAS: database}
    django.setup()


def _replay_part(range: Range, engine: str) -> list[Replayed]:
    reading = Reading()
    replay = Replay(registry.engine(engine), reading, _first_block_start(reading))
    transactions = past.transactions_between(range.first, range.last, range.contract_id, _CHUNK, reading)
    recorded = read_recorded(transactions, reading)
    return [replay.run(each, recorded[each.consensus_timestamp]) for each in transactions]


def _first_block_start(reading: Reading) -> int | None:
    """When the first stored block began; None if no block was before it."""
    # Index: the primary key (consensus_end).
    row = reading.fetch_one(
        "select consensus_start, index, prev_hash from record_file order by consensus_end limit 1"
    )
    if row is None:
        return MAX_INT64
    start, number, previous = row
    return None if number == 0 and not previous.strip("0") else int(start)
