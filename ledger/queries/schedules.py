"""Schedules with their entities and signatures."""

from collections.abc import Sequence
from typing import NamedTuple

from mirror.core.db.distribution import is_distributed
from mirror.core.db.reading.sql import MAX_INT64, MIN_INT64, Comparison, Where, compare, fetch, fetch_one
from mirror.core.db.sql.bounds import Bounds
from mirror.core.db.sql.loose_index_scan import different_values
from mirror.core.db.sql.query import Query

# A page reads the first schedules of so many creators one by one.
_MOST_CREATORS = 100

# Per row of `s`. Indexes: the primary key of entity; transaction_signature__entity_id (entity_id,
# consensus_timestamp). PostgreSQL's base64 has a newline after every 76 characters, as the API has.
_COLUMNS = """
    s.consensus_timestamp, s.creator_account_id, s.executed_timestamp, s.expiration_time, s.payer_account_id,
    s.schedule_id, s.transaction_body, s.wait_for_expiry, e.id is not null, e.key, e.deleted, e.memo,
    (
        select json_agg(
            json_build_array(
                g.consensus_timestamp, encode(g.public_key_prefix, 'base64'), encode(g.signature, 'base64'),
                g.type
            )
            order by g.consensus_timestamp, g.public_key_prefix
        )
        from transaction_signature g where g.entity_id = s.schedule_id
    )
"""


class FullSchedule(NamedTuple):
    """A schedule with columns of its entity, if it is stored (`has_entity`), and its signatures."""

    consensus_timestamp: int
    creator_account_id: int
    executed_timestamp: int | None
    expiration_time: int | None
    payer_account_id: int
    schedule_id: int
    transaction_body: bytes
    wait_for_expiry: bool
    has_entity: bool
    admin_key: bytes | None
    deleted: bool | None
    memo: str | None
    signatures: list[tuple[int, str, str, int | None]] | None  # time, key prefix, signature, type


def schedules(query: Query, ids: Bounds, creators: Sequence[int] | None) -> list[FullSchedule]:
    """Return a page of schedules by id, of these creators if they are given."""
    # Indexes: the primary key (schedule_id); of creators schedule__creator_schedule (creator_account_id,
    # schedule_id). `any`, and an order that starts with the creator, as for `=` PostgreSQL may walk the
    # primary key; always both ends of the ids, as without them it may sort all schedules of the creator.
    query = query.filter(ids.where("schedule_id"))
    if is_distributed():
        return _distributed_schedules(query, creators)
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


def _distributed_schedules(query: Query, creators: Sequence[int] | None) -> list[FullSchedule]:
    """Return the same where tables are distributed: ids first, then the rows."""
    if creators is not None:
        query = query.filter(Where(("creator_account_id = any(%s)",), (list(creators),)))
    page = f"""
        select schedule_id from schedule {query.where.sql}
        order by schedule_id {query.direction} limit {query.limit:d}
    """
    ids = [number for (number,) in fetch(page, query.where.values)]
    if not ids:
        return []
    return _schedules_of(
        Where(("s.schedule_id = any(%s)",), (ids,)), f"order by s.schedule_id {query.direction}"
    )


def _schedules_of(where: Where, order: str = "") -> list[FullSchedule]:
    # Index: the primary keys (schedule_id) and (id).
    statement = f"""
        select {_COLUMNS} from schedule s left join entity e on e.id = s.schedule_id {where.sql} {order}
    """
    return [FullSchedule(*row) for row in fetch(statement, where.values)]


def creators_within(accounts: Bounds) -> list[int] | None:
    """Return the accounts of a range that have created schedules; None if they are many."""
    # Index: schedule__creator_schedule (creator_account_id, schedule_id).
    return different_values("schedule", "creator_account_id", accounts, _MOST_CREATORS)


def first_and_last() -> tuple[int, int] | None:
    """Return the smallest and the largest id of a schedule."""
    # Index: the primary key (schedule_id).
    row = fetch_one("select min(schedule_id), max(schedule_id) from schedule")
    return None if row is None or row[0] is None else (row[0], row[1])


def schedule(schedule_id: int) -> FullSchedule | None:
    """Return one schedule."""
    return next(iter(_schedules_of(compare("s.schedule_id", [Comparison("eq", schedule_id)]))), None)
