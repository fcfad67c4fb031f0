"""What belongs to results and logs and is elsewhere: entities, Ethereum transactions, blocks."""

from collections.abc import Iterable, Sequence

from contracts.queries import ethereum
from mirror.core.db.reading.by_month import and_months
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import Row, fetch


def evm_addresses(ids: Iterable[int]) -> dict[int, bytes | None]:
    """Return the EVM addresses of entities, by id."""
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    # Index: the primary key (id), on the machines of these ids.
    return dict(fetch("select id, evm_address from entity where id = any(%s)", (wanted,)))


def blocks(times: Sequence[int], longest: int | None = None) -> dict[int, Row]:
    """Return number, hash and gas used of the block of each time, if it is stored.

    With `longest`, a block that ends more nanoseconds than that after the last of the times is left out, and
    one that begins after its time as well.
    """
    if not times:
        return {}
    # Index: the primary key of record_file (consensus_end).
    shown = "" if longest is None else "where b.consensus_start <= wanted.at and b.consensus_end <= %s"
    rows = fetch(
        f"""
        select wanted.at, b.index, b.hash, b.gas_used
        from (select distinct at from unnest(%s::bigint[]) at) wanted
        cross join lateral (
            select * from record_file where consensus_end >= wanted.at order by consensus_end limit 1
        ) b {shown}
        """,
        (list(times), *(() if longest is None else (max(times) + longest,))),
    )
    return {row[0]: row[1:] for row in rows}


def ethereum_transactions(
    keys: Iterable[tuple[int, int]], times: Bounds, *, one: bool = False
) -> dict[int, Row]:
    """Return the columns of Ethereum transactions of these times and payers, by time."""
    wanted = list(keys)
    if not wanted:
        return {}
    more = f", {ethereum.COLUMNS_OF_ONE}" if one else ""
    # Index: the primary key (consensus_timestamp, payer_account_id), on the machines of these payers.
    statement = f"""
        select t.consensus_timestamp, {ethereum.COLUMNS}{more} from ethereum_transaction t
        where t.consensus_timestamp = any(%s) and t.payer_account_id = any(%s)
            {and_months(times, "t.consensus_timestamp")}
    """
    values = [timestamp for timestamp, _ in wanted], sorted({payer for _, payer in wanted})
    return {row[0]: row[1:] for row in fetch(statement, values)}
