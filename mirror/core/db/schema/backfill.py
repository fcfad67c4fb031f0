"""Backfills: changes of rows that an older release has written, in ranges of keys, the newest first.

An app declares what a range changes; `mirror.upgrade` runs the ranges. Each is a transaction of
its own, which also moves the backfill's position. So every row is changed once, wherever a backfill is
stopped.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.apps import apps
from django.db import connection


class KeyRange(NamedTuple):
    """The keys above `after`, up to and including `to`."""

    after: int
    to: int


def execute_range(statement: str, keys: KeyRange, **values: Any) -> int:
    """Execute a statement about a range; return the number of rows that it has changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, keys._asdict() | values)
        return int(cursor.rowcount)


@dataclass(frozen=True, kw_only=True)
class Backfill:
    """A backfill that goes through a table by a key, which has an index.

    `change` changes the rows of a range and returns their number. `is_needed` may say that there is nothing
    to do. `oldest` returns a key at and below which nothing is changed. `first` is the column of the smallest
    time of a row, if that is not the key. `newest` returns the largest key, if keys are no consensus
    timestamps.
    """

    name: str
    table: str
    key: str = "consensus_timestamp"
    first: str = ""
    change: Callable[[KeyRange], int]
    is_needed: Callable[[], bool] = lambda: True
    oldest: Callable[[], int | None] = lambda: None
    newest: Callable[[], int | None] | None = None


@dataclass(frozen=True, kw_only=True)
class IndexBuild:
    """An index that is built, as its model declares it, while its table is in use."""

    name: str
    index: str
    replaced: str = ""

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
class MonthlyPartitioning:
    """The partitioning of the partitionable tables by month; `mirror.core.db.partitions` has its steps."""

    name: str


# The indexes that are built, by the name of the backfill, and what each is of.
_INDEXES = {
    "synthetic_index": ("contract_log__synthetic_timestamp", "synthetic logs"),
    "synthetic_contract_index": ("contract_log__synthetic_contract_timestamp", "synthetic logs by contract"),
    "topic0_index": ("contract_log__topic0_timestamp", "logs by their first topic"),
    "topic1_index": ("contract_log__topic1_timestamp", "logs by their second topic"),
    "topic2_index": ("contract_log__topic2_timestamp", "logs by their third topic"),
    "topic3_index": ("contract_log__topic3_timestamp", "logs by their fourth topic"),
    "balance_index": ("entity__balance", "accounts by balance"),
    "key_index": ("entity__public_key_type_id", "entities by public key"),
    "holdings_index": ("token_account__token_balance_account", "a token's holders by balance"),
    "token_type_index": ("token__type_id", "tokens by type"),
    "token_symbol_index": ("token__symbol", "tokens by symbol"),
    "past_balance_index": ("account_balance__balance_account", "snapshots of accounts by balance"),
    "past_holdings_index": (
        "token_balance__token_balance_account",
        "snapshots of a token's holders by balance",
    ),
    "sent_airdrops_index": ("token_airdrop__pending_of_sender", "pending airdrops by sender"),
    "received_airdrops_index": ("token_airdrop__pending_of_receiver", "pending airdrops by receiver"),
    "schedule_index": ("schedule__creator_schedule", "schedules by their creator"),
    "failed_index": ("transaction__failed", "failed transactions"),
    "failed_type_index": ("transaction__failed_type", "failed transactions by type"),
    "credit_index": ("crypto_transfer__credit", "what accounts get"),
    "debit_index": ("crypto_transfer__debit_of_others", "what others take from accounts"),
    "token_debit_index": ("token_transfer__debit_of_others", "tokens that others take from accounts"),
    "entity_transaction_index": ("entity_transaction__consensus_timestamp", "who took part in transactions"),
}
# Indexes of the original that one of these replaces, as it begins with their columns.
_REPLACED = {"key_index": "entity__public_key_type"}
INDEX_BUILDS = {
    name: IndexBuild(name=name, index=index, replaced=_REPLACED.get(name, ""))
    for name, (index, _) in _INDEXES.items()
}
#: The backfills by name, each with a title that says what it changes. They run in this order: first the ones
#: that readers need most.
TITLES = {name: f"the index of {rows}" for name, (_, rows) in _INDEXES.items()} | {
    "ethereum_weibars": "weibars of Ethereum transactions",
    "block_times": "times of blocks",
    "loaded_ranges": "the list of what is loaded",
    "duplicate_logs": "transfers logged twice",
    "synthetic_logs": "marks of synthetic logs",
    "message_hashes": "hashes of messages with fees",
    "block_positions": "missing logs of transfers, and positions in blocks",
    "log_blooms": "blooms and marks of synthetic logs",
    "child_positions": "positions of children in blocks",
    "nft_transfers": "serials that moved at once",
    "contract_allowances": "allowances spent by contracts",
    "long_stakes_rewards": "rewards of long-term stakers",
    "gone_nodes_rewards": "rewards of stakers to nodes that are gone",
    "monthly_partitions": "partitioning of large tables by month",
}
