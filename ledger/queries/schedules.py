"""Schedules with their entities and signatures."""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.queries.account_pages import min_max
from mirror.core.db.distribution import distributable
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.scans import FIRST_IDS, distinct_values, walk
from mirror.core.db.reading.sql import MAX_INT64, MIN_INT64, Comparison, Where, compare, fetch

# A page reads the first schedules of so many creators one by one.
_MAX_CREATORS = 100

# Per row of `s`. Indexes: the primary key of entity; transaction_signature__entity_id (entity_id,
# consensus_timestamp). PostgreSQL's base64 has a newline after every 76 characters, as the API has.
_COLUMNS = """
    e.key, e.deleted, s.consensus_timestamp, s.creator_account_id, s.executed_timestamp, s.expiration_time,
    e.memo, s.payer_account_id, s.schedule_id, (
        select json_agg(
            json_build_array(
                g.consensus_timestamp, encode(g.public_key_prefix, 'base64'), encode(g.signature, 'base64'),
                g.type
            )
            order by g.consensus_timestamp, g.public_key_prefix
        )
        from transaction_signature g where g.entity_id = s.schedule_id
    ), s.transaction_body, s.wait_for_expiry, e.id is not null
"""


class FullSchedule(NamedTuple):
    """A schedule with columns of its entity, if it is stored (`has_entity`), and its signatures."""

    admin_key: bytes | None
    deleted: bool | None
    consensus_timestamp: int
    creator_account_id: int
    executed_timestamp: int | None
    expiration_time: int | None
    memo: str | None
    payer_account_id: int
    schedule_id: int
    signatures: list[tuple[int, str, str, int | None]] | None  # time, key prefix, signature, type
    transaction_body: bytes
    wait_for_expiry: bool
    has_entity: bool


def page(
    accounts: Sequence[Comparison], schedule_ids: Sequence[Comparison], query: Query
) -> tuple[list[FullSchedule], int | None]:
    """Return a page of schedules by id, and the id after which it continues if it came to no end.

    All comparisons, of creators and of ids, have to hold.
    """
    if any(comparison.value is None for comparison in (*accounts, *schedule_ids)):
        return [], None
    within, ids = Bounds.combine(accounts), Bounds.combine(schedule_ids)
    creators = None
    if within.equal:
        creators = list(within.equal_within - within.unequal) if len(within.equal) == 1 else []
    elif within.lower is not None or within.upper is not None:
        # Index: schedule__creator_schedule (creator_account_id, schedule_id). None if they are many.
        creators = distinct_values("schedule", "creator_account_id", within, _MAX_CREATORS)
    others = Where() if creators is not None else within.where("creator_account_id")
    return walk(
        lambda window: _schedules(query.filter(others), window, creators),
        ids,
        query,
        ends=lambda: min_max("schedule", "schedule_id"),
        first=FIRST_IDS,
    )


@distributable
def _schedules(query: Query, ids: Bounds, creators: Sequence[int] | None) -> list[FullSchedule]:
    # Indexes: the primary key (schedule_id); of creators schedule__creator_schedule (creator_account_id,
    # schedule_id). `any`, and an order that starts with the creator, as for `=` PostgreSQL may walk the
    # primary key; always both ends of the ids, as without them it may sort all schedules of the creator.
    query = query.filter(ids.where("schedule_id"))
    end = f"{query.direction} limit {query.limit:d}"
    if creators is None:
        page = f"select * from schedule {query.where.sql} order by schedule_id {end}"
        values = query.where.values
    else:
        page = f"""
            select of_creator.* from unnest(%s::bigint[]) as creator (id)
            cross join lateral (
                select * from schedule
                where creator_account_id = any(array[creator.id]) {query.where.and_sql}
                    and schedule_id between %s and %s
                order by creator_account_id {query.direction}, schedule_id {end}
            ) of_creator
            order by schedule_id {end}
        """
        values = (list(creators), *query.where.values, MIN_INT64, MAX_INT64)
    statement = f"""
        select {_COLUMNS}
        from ({page}) s
        left join entity e on e.id = s.schedule_id
        order by s.schedule_id {query.direction}
    """
    return [FullSchedule(*row) for row in fetch(statement, values)]


@_schedules.distributed
def _distributed_schedules(query: Query, ids: Bounds, creators: Sequence[int] | None) -> list[FullSchedule]:
    """Read ids first, then the rows."""
    query = query.filter(ids.where("schedule_id"))
    if creators is not None:
        query = query.filter(Where(("creator_account_id = any(%s)",), (list(creators),)))
    page = f"""
        select schedule_id from schedule {query.where.sql}
        order by schedule_id {query.direction} limit {query.limit:d}
    """
    numbers = [number for (number,) in fetch(page, query.where.values)]
    if not numbers:
        return []
    return _schedules_of(
        Where(("s.schedule_id = any(%s)",), (numbers,)), f"order by s.schedule_id {query.direction}"
    )


def _schedules_of(where: Where, order: str = "") -> list[FullSchedule]:
    # Index: the primary keys (schedule_id) and (id).
    statement = f"""
        select {_COLUMNS} from schedule s left join entity e on e.id = s.schedule_id {where.sql} {order}
    """
    return [FullSchedule(*row) for row in fetch(statement, where.values)]


def schedule(schedule_id: int) -> FullSchedule | None:
    return next(iter(_schedules_of(compare("s.schedule_id", [Comparison("eq", schedule_id)]))), None)
