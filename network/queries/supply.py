"""The unreleased supply of hbar, now and at a time."""

from typing import NamedTuple

from mirror.core import config
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import MAX_INT64, fetch_one
from mirror.core.values.timestamp import month_start


class Unreleased(NamedTuple):
    """The sum of the balances in tinybars, and the time of the latest."""

    balance: int
    timestamp: int


def unreleased_now() -> Unreleased | None:
    """Return the sum of the current balances."""
    # Index: the primary key (id) of entity. The ids stand in the text, so that PostgreSQL knows how few.
    ranges = " or ".join(f"id between {first:d} and {last:d}" for first, last in _unreleased_accounts())
    return _fetch(f"select sum(balance)::bigint, max(balance_timestamp) from entity where {ranges}")


def unreleased_at(lower: int, upper: int) -> Unreleased | None:
    """Return the sum of each account's latest balance in the snapshots between these times, both included.

    Snapshots before the month that precedes the upper end are too old.
    """
    # Index: the primary key (account_id, consensus_timestamp), from its end for each account. The months
    # stand in the text, so that PostgreSQL plans for the two partitions.
    lower = max(lower, month_start(upper, -1))
    months = f"consensus_timestamp >= {month_start(lower):d}"
    if (next_month := month_start(upper, 1)) <= MAX_INT64:
        months += f" and consensus_timestamp < {next_month:d}"
    within = Bounds(lower, upper).where("consensus_timestamp")
    ranges = " union all ".join(
        f"select generate_series({first:d}::bigint, {last:d}::bigint)"
        for first, last in _unreleased_accounts()
    )
    return _fetch(
        f"""
        select sum(balance)::bigint, max(consensus_timestamp)
        from ({ranges}) as account (id) cross join lateral (
            select balance, consensus_timestamp from account_balance
            where account_id = account.id and {months} {within.and_sql}
            order by consensus_timestamp desc limit 1
        ) latest
        """,
        within.values,
    )


def _unreleased_accounts() -> list[tuple[int, int]]:
    """Return the first and last encoded id of each range."""
    ranges = (text.partition("-") for text in config.value("rest.network.unreleasedSupplyAccounts"))
    return [(config.own_id(int(first)), config.own_id(int(last or first))) for first, _, last in ranges]


def _fetch(statement: str, values: tuple[object, ...] = ()) -> Unreleased | None:
    row = fetch_one(statement, values)
    if row is None or None in row:
        return None
    return Unreleased(*row)
