"""Transactions by id or hash where tables are distributed."""

from collections.abc import Sequence

from ledger.queries.transactions import FullTransaction, columns
from mirror.core.db.partitions.reading import also
from mirror.core.db.reading.sql import fetch
from mirror.core.db.sql.bounds import Bounds
from mirror.core.db.sql.query import Query


def transactions_of_ids(ids: Sequence[tuple[int, int]], query: Query, times: Bounds) -> list[FullTransaction]:
    """Return all transactions of several ids, pairs of payer and valid start."""
    # Index: transaction__transaction_id (valid_start_ns, payer_account_id), on the machines of these payers.
    statement = f"""
        select {columns(times, more=True)} from transaction t
        where t.payer_account_id = any(%s) and t.valid_start_ns = any(%s) {query.where.and_sql}
            {also(times, "t.consensus_timestamp")}
        order by t.consensus_timestamp
    """
    wanted = set(ids)
    values = (sorted({payer for payer, _ in ids}), [start for _, start in ids], *query.where.values)
    found = [FullTransaction._make(row) for row in fetch(statement, values)]
    return [each for each in found if (each.payer_account_id, each.valid_start_ns) in wanted]


def transactions_of_hash(digest: bytes, query: Query, times: Bounds, *, most: int) -> list[FullTransaction]:
    """Return all transactions of one 48-byte hash with the payer of the first."""
    # Index: transaction_hash__hash, of the partition that the first byte selects. The hash, whole or its
    # first 32 bytes as it is stored since it has a suffix, says on which machines.
    candidates = fetch(
        f"""
        select consensus_timestamp, payer_account_id, hash || coalesce(hash_suffix, '') from transaction_hash
        where mod(get_byte(hash, 0), 32) = %s and substring(hash from 1 for 32) = %s and hash = any(%s)
        order by consensus_timestamp limit {most:d}
        """,
        (digest[0] % 32, digest[:32], [digest[:32], digest]),
    )
    found = [(at, payer) for at, payer, whole in candidates if whole == digest]
    if not found:
        return []
    first = found[0][1]
    # Index: the primary key (consensus_timestamp, payer_account_id). Rows of older releases lack the payer.
    payer = "" if first is None else "and t.payer_account_id = %s"
    statement = f"""
        select {columns(times, more=True)} from transaction t
        where t.consensus_timestamp = any(%s) {payer} {query.where.and_sql}
            {also(times, "t.consensus_timestamp")}
        order by t.consensus_timestamp
    """
    given = () if first is None else (first,)
    values = ([at for at, _ in found], *given, *query.where.values)
    return [FullTransaction._make(row) for row in fetch(statement, values)]
