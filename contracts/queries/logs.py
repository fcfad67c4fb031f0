"""Contract logs: pages of them, of one contract or of all; the time of a transaction hash."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirror.db.bounds import Bounds
from mirror.db.pairs import PairBounds, page_of_pairs
from mirror.db.query import Query
from mirror.db.sql import Where, fetch, fetch_one

PAIR = ("consensus_timestamp", "index")


@dataclass(frozen=True, slots=True)
class Log:
    """One log with its block."""

    evm_address: bytes | None
    bloom: bytes
    contract_id: int
    data: bytes
    index: int
    topics: list[bytes | None]
    block_hash: str | None
    block_number: int | None
    root_contract_id: int | None
    consensus_timestamp: int
    transaction_hash: bytes | None
    transaction_index: int | None


def logs(
    bounds: PairBounds,
    query: Query,
    *,
    contract_id: int | None,
    topics: Sequence[Sequence[bytes]],
    longest_block: int,
) -> list[Log]:
    """Return a page of logs by time and index; `topics` has the alternatives of each topic, or none.

    A block that ends more than `longest_block` nanoseconds after the page's last log is not shown.
    """
    # Indexes: of all contracts the primary key (consensus_timestamp, index). Of one contract
    # contract_log__contract_id_timestamp_index (contract_id, consensus_timestamp desc, index), where only the
    # logs of the same time are sorted. `any`, and an order that starts with the contract, as for `=`
    # PostgreSQL may walk the primary key past all other contracts. Of the entity and the block the primary
    # keys (id, consensus_end).
    where, led_by = Where(), ""
    if contract_id is not None:
        where += Where(("contract_id = any(%s)",), ([contract_id],))
        led_by = "contract_id asc" if query.descending else "contract_id desc"
    for position, alternatives in enumerate(topics):
        if alternatives:
            where += Where((f"topic{position:d} = any(%s)",), (list(alternatives),))
    page = page_of_pairs("select * from contract_log", query.filter(where), bounds, PAIR, led_by=led_by)
    statement = f"""
        select e.evm_address, l.bloom, l.contract_id, l.data, l.index,
            array[l.topic0, l.topic1, l.topic2, l.topic3], b.hash, b.index, l.root_contract_id,
            l.consensus_timestamp, l.transaction_hash, l.transaction_index
        from (select *, max(consensus_timestamp) over () as last from ({page.sql}) page) l
        left join entity e on e.id = l.contract_id
        left join lateral (
            select * from record_file where consensus_end >= l.consensus_timestamp
            order by consensus_end limit 1
        ) b on b.consensus_start <= l.consensus_timestamp and b.consensus_end <= l.last + %s
        order by l.consensus_timestamp {query.direction}, l.index {query.direction}
    """
    return [Log(*row) for row in fetch(statement, (*page.values, longest_block))]


def time_of_hash(digest: bytes, timestamps: Bounds, *, descending: bool) -> int | None:
    """Return the first consensus timestamp of a hash of 32 or 48 bytes, in this order and range."""
    # Index: transaction_hash__hash of the partition that the first byte selects. Materialized, as the order
    # and limit would otherwise lead PostgreSQL along another index.
    statement = f"""
        with found as materialized (
            select consensus_timestamp, hash_suffix from transaction_hash
            where mod(get_byte(hash, 0), 32) = %s and substring(hash from 1 for 32) = %s
        )
        select consensus_timestamp from found
        where (%s = '' or hash_suffix = %s) {timestamps.where("consensus_timestamp").and_sql}
        order by consensus_timestamp {"desc" if descending else "asc"} limit 1
    """
    start, suffix = digest[:32], digest[32:]
    values = (digest[0] % 32, start, suffix, suffix, *timestamps.where("consensus_timestamp").values)
    row = fetch_one(statement, values)
    return None if row is None else row[0]
