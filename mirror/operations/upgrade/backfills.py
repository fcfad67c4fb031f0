"""All backfills, by name."""

from contracts.backfills import allowances, indexes, logs, messages, weibars
from ledger.backfills import blocks, coverage, rewards
from mirror.core.db.backfill import TITLES, Backfill, Division, IndexBuild

# The indexes that models declare, by the name of the backfill that builds them.
_INDEXES = {
    "synthetic_index": "contract_log__synthetic_timestamp",
    "topic0_index": "contract_log__topic0_timestamp",
    "topic1_index": "contract_log__topic1_timestamp",
    "topic2_index": "contract_log__topic2_timestamp",
    "topic3_index": "contract_log__topic3_timestamp",
    "balance_index": "entity__balance",
    "past_balance_index": "account_balance__balance_account",
    "holdings_index": "token_account__token_balance_account",
    "past_holdings_index": "token_balance__token_balance_account",
    "token_type_index": "token__type_id",
    "token_symbol_index": "token__symbol",
    "sent_airdrops_index": "token_airdrop__pending_of_sender",
    "received_airdrops_index": "token_airdrop__pending_of_receiver",
    "schedule_index": "schedule__creator_schedule",
    "failed_index": "transaction__failed",
    "failed_type_index": "transaction__failed_type",
    "credit_index": "crypto_transfer__credit",
    "debit_index": "crypto_transfer__debit_of_others",
    "token_debit_index": "token_transfer__debit_of_others",
    "entity_transaction_index": "entity_transaction__consensus_timestamp",
}
_ALL: tuple[Backfill | IndexBuild | Division, ...] = (
    *(IndexBuild(name=name, index=index) for name, index in _INDEXES.items()),
    logs.DUPLICATES,
    logs.SYNTHETIC,
    weibars.WEIBARS,
    blocks.TIMES,
    coverage.RANGES,
    messages.HASHES,
    indexes.POSITIONS,
    allowances.SPENT_BY_CONTRACTS,
    rewards.LONG_STAKES,
    rewards.GONE_NODES,
    Division(name="monthly_partitions"),
)
BACKFILLS = {name: next(backfill for backfill in _ALL if backfill.name == name) for name in TITLES}
