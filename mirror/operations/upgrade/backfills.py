"""All backfills, by name."""

from contracts.backfills import allowances, indexes, logs, messages, weibars
from ledger.backfills import blocks, coverage, rewards
from ledger.backfills import indexes as ledger_indexes
from mirror.core.db.backfill import TITLES, Backfill, Division, IndexBuild
from tokens.backfills import indexes as token_indexes

_ALL: tuple[Backfill | IndexBuild | Division, ...] = (
    logs.SYNTHETIC_INDEX,
    *logs.TOPIC_INDEXES,
    ledger_indexes.BALANCE,
    ledger_indexes.PAST_BALANCE,
    token_indexes.HOLDINGS,
    token_indexes.PAST_HOLDINGS,
    token_indexes.TYPE,
    token_indexes.SYMBOL,
    token_indexes.SENT_AIRDROPS,
    token_indexes.RECEIVED_AIRDROPS,
    ledger_indexes.SCHEDULES,
    *ledger_indexes.TRANSACTIONS,
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
BACKFILLS = {name: next(each for each in _ALL if each.name == name) for name in TITLES}
