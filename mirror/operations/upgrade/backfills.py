"""All backfills, by name."""

from contracts.backfills import allowances, indexes, logs, weibars
from ledger.backfills import blocks, coverage, rewards
from mirror.core.db.backfill import INDEX_BUILDS, Backfill, Division, IndexBuild

_OF_ROWS = (
    weibars.WEIBARS,
    blocks.TIMES,
    coverage.RANGES,
    logs.DUPLICATES,
    logs.SYNTHETIC,
    logs.HASHES,
    indexes.POSITIONS,
    allowances.SPENT_BY_CONTRACTS,
    rewards.LONG_STAKES,
    rewards.GONE_NODES,
    Division(name="monthly_partitions"),
)
BACKFILLS: dict[str, Backfill | IndexBuild | Division] = {
    **INDEX_BUILDS,
    **{backfill.name: backfill for backfill in _OF_ROWS},
}
