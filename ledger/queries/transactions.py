"""Transactions with their transfers, by id or hash; `transaction_lists` has the lists.

Every statement returns transactions with their transfers, as arrays of numbers made by two correlated
sub-selects. For a page this costs about a third of fetching the transfers with further statements.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mirror.core.db.distribution import choose, distributable
from mirror.core.db.reading.by_month import ALL_TIMES, and_months, is_partitioned, time_bounds
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.sql import Comparison, Row, Where, compare, fetch
from mirror.core.values.hapi import result_codes

# Indexes: crypto_transfer__consensus_timestamp, token_transfer__token_account_timestamp; both start with the
# time.
_COLUMNS = """
    t.consensus_timestamp, t.payer_account_id, t.valid_start_ns, t.type, t.result, t.scheduled, t.nonce,
    t.batch_key, t.transaction_bytes, t.charged_tx_fee, t.entity_id, t.max_fee, t.max_custom_fees, t.memo,
    t.high_volume, t.high_volume_pricing_multiplier, t.nft_transfer, t.node_account_id,
    t.parent_consensus_timestamp, t.transaction_hash, t.valid_duration_seconds,
    (
        select array_agg(
            array[c.entity_id::bigint, c.amount::bigint, coalesce(c.is_approval, false)::int]
            order by c.entity_id, c.amount
        )
        from crypto_transfer c where c.consensus_timestamp = t.consensus_timestamp{c}
    ),
    (
        select array_agg(
            array[
                k.token_id::bigint, k.account_id::bigint, k.amount::bigint,
                coalesce(k.is_approval, false)::int
            ]
            order by k.token_id, k.account_id
        )
        from token_transfer k where k.consensus_timestamp = t.consensus_timestamp{k}
    )
"""

# Only for one transaction id or hash. Index: assessed_custom_fee__consensus_timestamp.
_MORE_COLUMNS = """,
    (
        select json_agg(
            json_build_array(f.amount, f.collector_account_id, f.token_id, f.effective_payer_account_ids)
            order by f.collector_account_id, f.amount
        )
        from assessed_custom_fee f where f.consensus_timestamp = t.consensus_timestamp{f}
    ),
    t.inner_transactions
"""

_MAX_OF_A_HASH = 25


class FullTransaction(NamedTuple):
    """One transaction with its transfers; the last two only where a query is for one id or hash."""

    consensus_timestamp: int
    payer_account_id: int
    valid_start_ns: int
    type: int
    result: int
    scheduled: bool
    nonce: int
    batch_key: bytes | None
    transaction_bytes: bytes | None
    charged_tx_fee: int | None
    entity_id: int | None
    max_fee: int | None
    max_custom_fees: list[bytes] | None
    memo: bytes | None
    high_volume: bool
    high_volume_pricing_multiplier: int | None
    nft_transfer: list[dict[str, int | bool | None]] | None
    node_account_id: int | None
    parent_consensus_timestamp: int | None
    transaction_hash: bytes | None
    valid_duration_seconds: int | None
    transfers: list[tuple[int, int, int]] | None  # account, amount, is_approval
    token_transfers: list[tuple[int, int, int, int]] | None  # token, account, amount, is_approval
    assessed_custom_fees: list[tuple[int, int, int | None, list[int]]] | None
    inner_transactions: list[int] | None

    @property
    def successful(self) -> bool:
        return self.result in result_codes.SUCCESS


def first_consensus_timestamp() -> int:
    """Return the consensus timestamp of the first stored transaction; 0 when there is none."""
    ((first,),) = fetch("select coalesce(min(consensus_timestamp), 0) from transaction")
    return int(first)


def columns(times: Bounds, *, more: bool = False) -> str:
    """Return the columns of FullTransaction for transactions t of these times.

    `more`: with those that only a query for one id or hash has.
    """
    conditions = {
        alias: and_months(times, f"{alias}.consensus_timestamp") + and_same_payer(alias) for alias in "ckf"
    }
    return (_COLUMNS + _MORE_COLUMNS if more else _COLUMNS + ", null, null").format(**conditions)


def and_same_payer(alias: str) -> str:
    """Return ` and ...`: rows of a transaction t are on the machine of its payer. Nothing on one machine."""
    return choose("", distributed=f" and {alias}.payer_account_id = t.payer_account_id")


def transactions_of_id(
    payer_account_id: int, valid_start_ns: int, query: Query, times: Bounds = ALL_TIMES
) -> list[FullTransaction]:
    """Return all transactions of one id; the query narrows t.

    Where tables are partitioned by month, only the months of `times` are read; else it makes no difference.
    """
    # Index: transaction__transaction_id (valid_start_ns, payer_account_id). A condition on the time would
    # tempt PostgreSQL to read all that this payer did in that time instead.
    where = compare("t.valid_start_ns", [Comparison("eq", valid_start_ns)])
    where += Where(("t.payer_account_id = %s",), (payer_account_id,))
    return _all(where + query.where, times)


@distributable
def transactions_of_ids(
    ids: Sequence[tuple[int, int]], query: Query, times: Bounds = ALL_TIMES
) -> list[FullTransaction]:
    """Return the same of several ids, pairs of payer and valid start."""
    # Index: transaction__transaction_id (valid_start_ns, payer_account_id).
    among = "(t.payer_account_id, t.valid_start_ns) in (select * from unnest(%s::bigint[], %s::bigint[]))"
    where = Where((among,), ([payer for payer, _ in ids], [start for _, start in ids]))
    return _all(where + query.where, times)


@transactions_of_ids.distributed
def _distributed_transactions_of_ids(
    ids: Sequence[tuple[int, int]], query: Query, times: Bounds = ALL_TIMES
) -> list[FullTransaction]:
    # On the machines of these payers.
    conditions = ("t.payer_account_id = any(%s)", "t.valid_start_ns = any(%s)")
    where = Where(conditions, (sorted({payer for payer, _ in ids}), [start for _, start in ids]))
    known = set(ids)
    rows = _all(where + query.where, times)
    return [row for row in rows if (row.payer_account_id, row.valid_start_ns) in known]


def transactions_of_hash(digest: bytes, query: Query) -> list[FullTransaction]:
    """Return all transactions of one 48-byte hash with the payer of the first."""
    # Indexes: transaction_hash__hash of the partition that the first byte selects; then the primary key
    # (consensus_timestamp).
    return _of_hash(digest, query, _times_of_hash(digest) if is_partitioned() else ALL_TIMES)


@distributable
def _of_hash(digest: bytes, query: Query, times: Bounds) -> list[FullTransaction]:
    statement = f"""
        with found as materialized (
            select consensus_timestamp, payer_account_id
            from (
                select consensus_timestamp, payer_account_id, hash || coalesce(hash_suffix, '') as digest
                from transaction_hash
                where mod(get_byte(hash, 0), 32) = %s and substring(hash from 1 for 32) = %s
                order by consensus_timestamp limit {_MAX_OF_A_HASH}
            ) candidate
            where digest = %s
        ),
        payer as materialized (
            select payer_account_id from found order by consensus_timestamp limit 1
        )
        select {columns(times, more=True)}
        from transaction t
        where t.consensus_timestamp = any(array(select consensus_timestamp from found))
            {and_months(times, "t.consensus_timestamp")}
            and t.payer_account_id = coalesce((select payer_account_id from payer), t.payer_account_id)
            {query.where.and_sql}
        order by t.consensus_timestamp
    """
    values = (digest[0] % 32, digest[:32], digest, *query.where.values)
    return [FullTransaction._make(row) for row in fetch(statement, values)]


@_of_hash.distributed
def _distributed_of_hash(digest: bytes, query: Query, times: Bounds) -> list[FullTransaction]:
    # Index: transaction_hash__hash, of the partition that the first byte selects. The hash, whole or its
    # first 32 bytes as it is stored since it has a suffix, says on which machines.
    candidates = fetch(
        f"""
        select consensus_timestamp, payer_account_id, hash || coalesce(hash_suffix, '') from transaction_hash
        where mod(get_byte(hash, 0), 32) = %s and substring(hash from 1 for 32) = %s and hash = any(%s)
        order by consensus_timestamp limit {_MAX_OF_A_HASH}
        """,
        (digest[0] % 32, digest[:32], [digest[:32], digest]),
    )
    keys = [(timestamp, payer) for timestamp, payer, whole in candidates if whole == digest]
    if not keys:
        return []
    # Index: the primary key (consensus_timestamp, payer_account_id). Rows of older releases have no payer.
    where = Where(("t.consensus_timestamp = any(%s)",), ([timestamp for timestamp, _ in keys],))
    if (payer := keys[0][1]) is not None:
        where += Where(("t.payer_account_id = %s",), (payer,))
    return _all(where + query.where, times)


def _times_of_hash(digest: bytes) -> Bounds:
    """Return the times of all transactions whose hash begins as this one."""
    # Index: transaction_hash__hash of the partition that the first byte selects.
    rows = fetch(
        """
        select consensus_timestamp from transaction_hash
        where mod(get_byte(hash, 0), 32) = %s and substring(hash from 1 for 32) = %s
        """,
        (digest[0] % 32, digest[:32]),
    )
    return time_bounds(row[0] for row in rows)


def _all(where: Where, times: Bounds) -> list[FullTransaction]:
    statement = f"""
        select {columns(times, more=True)} from transaction t
        {where.sql} {and_months(times, "t.consensus_timestamp")}
        order by t.consensus_timestamp
    """
    return [FullTransaction._make(row) for row in fetch(statement, where.values)]


def staking_reward_transfers(timestamps: Sequence[int]) -> list[Row]:
    """Return consensus_timestamp, account_id and amount of the rewards paid in these transactions."""
    # Index: the primary key (consensus_timestamp, account_id).
    return fetch(
        f"""
        select consensus_timestamp, account_id, amount from staking_reward_transfer
        where consensus_timestamp = any(%s) {and_months(time_bounds(timestamps), "consensus_timestamp")}
        order by consensus_timestamp, account_id
        """,
        (list(timestamps),),
    )
