"""Backfills: changes of rows that an older release has written, in small pieces, from the newest row down.

An app declares what a piece changes; `mirror.operations.upgrade` runs the pieces. Each is a transaction of
its own, which also moves the backfill's position. So every row is changed once, wherever a backfill is
stopped.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.apps import apps
from django.db import connection
from django.db.backends.utils import CursorWrapper

#: The backfills by name, each with a title that says what it changes. They run in this order: first the ones
#: that readers need most.
TITLES = {
    "synthetic_index": "the index of synthetic logs",
    "topic0_index": "the index of logs by their first topic",
    "topic1_index": "the index of logs by their second topic",
    "topic2_index": "the index of logs by their third topic",
    "topic3_index": "the index of logs by their fourth topic",
    "balance_index": "the index of accounts by balance",
    "holdings_index": "the index of a token's holders by balance",
    "token_type_index": "the index of tokens by type",
    "token_symbol_index": "the index of tokens by symbol",
    "past_balance_index": "the index of snapshots of accounts by balance",
    "past_holdings_index": "the index of snapshots of a token's holders by balance",
    "sent_airdrops_index": "the index of pending airdrops by sender",
    "received_airdrops_index": "the index of pending airdrops by receiver",
    "schedule_index": "the index of schedules by their creator",
    "failed_index": "the index of failed transactions",
    "failed_type_index": "the index of failed transactions by type",
    "credit_index": "the index of what accounts get",
    "debit_index": "the index of what others take from accounts",
    "token_debit_index": "the index of tokens that others take from accounts",
    "entity_transaction_index": "the index of who took part in transactions",
    "ethereum_weibars": "weibars of Ethereum transactions",
    "block_times": "times of blocks",
    "loaded_ranges": "the list of what is loaded",
    "duplicate_logs": "transfers logged twice",
    "synthetic_logs": "marks of synthetic logs",
    "message_hashes": "hashes of messages with fees",
    "block_positions": "missing logs of transfers, and positions in blocks",
    "contract_allowances": "allowances spent by contracts",
    "long_stakes_rewards": "rewards of long-term stakers",
    "gone_nodes_rewards": "rewards of stakers to nodes that are gone",
    "monthly_partitions": "division of large tables by month",
}


class Piece(NamedTuple):
    """The keys above `after`, up to and including `to`."""

    after: int
    to: int


def changed(cursor: CursorWrapper, statement: str, piece: Piece, **values: Any) -> int:
    """Execute a statement about a piece; return the number of rows that it has changed."""
    cursor.execute(statement, piece._asdict() | values)
    return int(cursor.rowcount)


def _everywhere(cursor: CursorWrapper) -> bool:
    return True


def _from_the_first(cursor: CursorWrapper) -> int | None:
    return None


@dataclass(frozen=True, kw_only=True)
class Backfill:
    """A backfill that goes through a table by a key, which has an index.

    `change` changes the rows of a piece and returns their number. `is_needed` may say that there is nothing
    to do. `oldest` returns a key at and below which nothing is changed. `first` is the column of the smallest
    time of a row, if that is not the key. `newest` returns the largest key, if keys are no consensus
    timestamps.
    """

    name: str
    table: str
    key: str = "consensus_timestamp"
    first: str = ""
    change: Callable[[CursorWrapper, Piece], int]
    is_needed: Callable[[CursorWrapper], bool] = _everywhere
    oldest: Callable[[CursorWrapper], int | None] = _from_the_first
    newest: Callable[[CursorWrapper], int | None] | None = None


@dataclass(frozen=True, kw_only=True)
class IndexBuild:
    """An index that is built, as its model declares it, while its table is in use."""

    name: str
    index: str

    @property
    def statement(self) -> str:
        """The statement that builds it concurrently."""
        model, index = next(
            (model, index)
            for model in apps.get_models()
            for index in model._meta.indexes
            if index.name == self.index
        )
        return str(index.create_sql(model, connection.schema_editor(), concurrently=True))


@dataclass(frozen=True, kw_only=True)
class Division:
    """The division of the growing tables by month; `mirror.core.db.partitions` has its steps."""

    name: str
