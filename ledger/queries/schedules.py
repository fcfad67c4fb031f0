"""Schedules with their entities and signatures."""

from typing import NamedTuple

from mirror.db.query import Query
from mirror.db.sql import Comparison, compare, fetch, fetch_one

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


def schedules(query: Query, *, of_creator: bool) -> list[FullSchedule]:
    """Return a page of schedules by id; `of_creator` when the conditions name the creator."""
    # Index: the primary key (schedule_id); for one creator schedule__creator_account_id, as the creator's
    # schedules may be anywhere in the table. The expression keeps PostgreSQL from walking the primary key.
    by = "schedule_id + 0" if of_creator else "schedule_id"
    page = f"{query.where.sql} order by {by} {query.direction} limit {query.limit:d}"
    statement = f"""
        select {_COLUMNS}
        from (select * from schedule {page}) s
        left join entity e on e.id = s.schedule_id
        order by s.schedule_id {query.direction}
    """
    return [FullSchedule(*row) for row in fetch(statement, query.where.values)]


def schedule(schedule_id: int) -> FullSchedule | None:
    """Return one schedule."""
    where = compare("s.schedule_id", [Comparison("eq", schedule_id)])
    statement = f"""
        select {_COLUMNS} from schedule s left join entity e on e.id = s.schedule_id {where.sql}
    """
    row = fetch_one(statement, where.values)
    return None if row is None else FullSchedule(*row)
