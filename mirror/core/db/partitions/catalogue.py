"""The partitionable tables and their partitions, as the catalogue of the database has them."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from mirror.core.db.statements import column, rows
from mirror.core.values.timestamp import MAX, MIN, NANOS_PER_SECOND, month_start

#: The column of the time by which the tables are partitioned (ns).
TIME = "consensus_timestamp"

# Those whose models are partitionable: processes that run calls read partitioned tables without any model.
_PARTITIONABLE = (
    "transaction",
    "assessed_custom_fee",
    "contract_action",
    "contract_log",
    "contract_result",
    "contract_transaction",
    "crypto_transfer",
    "entity_transaction",
    "ethereum_transaction",
    "staking_reward_transfer",
    "token_transfer",
    "topic_message",
)

#: The partitions of tables in the order of time: name, lower, upper (one without an end has the smallest or
#: largest number), table, whether it has rows, the numbers of both.
PARTITIONS = f"""
    select child.relname, coalesce(substring(bounds from $$FROM \\('?(-?\\d+)$$)::bigint, {MIN}),
        coalesce(substring(bounds from $$TO \\('?(-?\\d+)$$)::bigint, {MAX}),
        parent.relname, pg_relation_size(child.oid) > 0, child.oid::bigint, parent.oid::bigint
    from pg_class parent
    join pg_inherits on inhparent = parent.oid
    join pg_class child on child.oid = inhrelid
    cross join lateral pg_get_expr(child.relpartbound, child.oid) bounds
    where parent.relname = any(%s) and parent.relkind = 'p' and pg_table_is_visible(parent.oid)
        and not inhdetachpending
    order by 2"""
_PARTITIONED = """
    select relname from pg_class
    where relname = any(%s) and relkind = 'p' and pg_table_is_visible(oid)"""


class Partition(NamedTuple):
    """A partition: its name and its times, from `lower` to before `upper` (ns)."""

    name: str
    lower: int
    upper: int


def partitionable_tables() -> tuple[str, ...]:
    """Return the names of the tables that are partitioned on request, the table of transactions first."""
    return _PARTITIONABLE


def partitioned_tables(tables: Iterable[str] | None = None) -> list[str]:
    """Return those of the tables (by default of all growing ones) that have partitions, in their order."""
    candidates = partitionable_tables() if tables is None else tuple(tables)
    partitioned = set(column(_PARTITIONED, [list(candidates)]))
    return [table for table in candidates if table in partitioned]


def partitions(table: str) -> list[Partition]:
    """Return the partitions of a table in the order of time; none if it is not partitioned."""
    return [Partition(*row[:3]) for row in rows(PARTITIONS, [[table]])]


def partition_name(table: str, lower: int, upper: int) -> str:
    """Return the name of a partition: `transaction_p2024_06`, of several months `..._p2019_09_2024_06`."""
    first, last = _month(lower), _month(upper - 1)
    return f"{table}_p{first}" if first == last else f"{table}_p{first}_{last}"


def _month(time: int) -> str:
    return f"{datetime.fromtimestamp(time // NANOS_PER_SECOND, UTC):%Y_%m}"


def month_span(time: int) -> tuple[int, int]:
    """Return the month of a time: its first instant, and that of the next month as far as a column goes."""
    return max(month_start(time), MIN), min(month_start(time, 1), MAX)


def bound_sql(bound: int) -> str:
    return {MIN: "minvalue", MAX: "maxvalue"}.get(bound, str(bound))
