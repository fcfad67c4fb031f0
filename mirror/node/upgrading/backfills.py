"""All backfills, by name."""

from contracts.backfills import allowances, indexes, logs, messages, weibars
from ledger.backfills import blocks, rewards
from mirror.db.backfill import TITLES, Backfill, IndexBuild

_ALL: tuple[Backfill | IndexBuild, ...] = (
    logs.SYNTHETIC_INDEX,
    *logs.TOPIC_INDEXES,
    logs.DUPLICATES,
    logs.SYNTHETIC,
    weibars.WEIBARS,
    blocks.TIMES,
    messages.HASHES,
    indexes.TRANSACTION_INDEX,
    allowances.SPENT_BY_CONTRACTS,
    rewards.LONG_STAKES,
    rewards.GONE_NODES,
)
BACKFILLS = {name: next(each for each in _ALL if each.name == name) for name in TITLES}
