"""Searches for one contract transaction: the first part of statements that read what belongs to it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from mirror.core.db.reading.by_month import ALL_TIMES, and_months, is_partitioned, time_bounds
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import fetch

_SUCCESS = 22


class Search(NamedTuple):
    """A select of at most one row: consensus_timestamp, payer_account_id, entity_id (a participant).

    Its time is within `times`, which are known as far as partitioned tables need them. `all_times` returns
    the consensus timestamps of all transactions that are meant, whether or not they ran a contract.
    """

    sql: str
    values: tuple[Any, ...]
    all_times: Callable[[], list[int]]
    times: Bounds = ALL_TIMES


def by_hash(digest: bytes) -> Search:
    """Return the search by 32-byte hash: the last successful transaction, or the last if none succeeded."""
    # Index: contract_transaction_hash__hash (hash).
    return Search(
        f"""
        select consensus_timestamp, entity_id, payer_account_id from contract_transaction_hash
        where hash = %s order by (transaction_result = {_SUCCESS}) desc, consensus_timestamp desc limit 1
        """,
        (digest,),
        lambda: _all_times_of_hash(digest),
        _times_of_hash(digest) if is_partitioned() else ALL_TIMES,
    )


def _times_of_hash(digest: bytes) -> Bounds:
    # Index: contract_transaction_hash__hash (hash).
    rows = fetch("select consensus_timestamp from contract_transaction_hash where hash = %s", (digest,))
    return time_bounds(row[0] for row in rows)


def _all_times_of_hash(digest: bytes) -> list[int]:
    # Index: transaction_hash__hash of the partition that the first byte selects.
    rows = fetch(
        """
        select consensus_timestamp from transaction_hash
        where mod(get_byte(hash, 0), 32) = %s and substring(hash from 1 for 32) = %s
        """,
        (digest[0] % 32, digest),
    )
    return [at for (at,) in rows]


def by_id(payer_account_id: int, valid_start_ns: int, nonce: int, *, until: int) -> Search:
    """Return the same by transaction id, with consensus between its valid start and `until`."""
    # Index: transaction__transaction_id (valid_start_ns, payer_account_id). Materialized, as with the
    # condition on the time PostgreSQL might read all of the payer's transactions in that time instead.
    times = Bounds(valid_start_ns, until)
    of_id = f"""
        with known as materialized (
            select consensus_timestamp, payer_account_id, result, nonce from transaction
            where valid_start_ns = %s and payer_account_id = %s {and_months(times, "consensus_timestamp")}
        )
        select consensus_timestamp, payer_account_id as entity_id, payer_account_id from known
        where nonce = %s and consensus_timestamp between %s and %s
        """
    values = (valid_start_ns, payer_account_id, nonce, valid_start_ns, until)
    return Search(
        f"{of_id} order by (result = {_SUCCESS}) desc, consensus_timestamp desc limit 1",
        values,
        lambda: [row[0] for row in fetch(of_id, values)],
        times,
    )


def by_time(consensus_timestamp: int, entity_id: int) -> Search:
    """Return the search for the transaction at a time in which an entity took part."""
    # Index: the primary key (consensus_timestamp, entity_id).
    times = Bounds(consensus_timestamp, consensus_timestamp)
    return Search(
        f"""
        select consensus_timestamp, entity_id, payer_account_id from contract_transaction
        where consensus_timestamp = %s and entity_id = %s {and_months(times, "consensus_timestamp")}
        """,
        (consensus_timestamp, entity_id),
        lambda: [consensus_timestamp],
        times,
    )
