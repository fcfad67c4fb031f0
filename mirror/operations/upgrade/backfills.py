"""All backfills by name, in the order in which they run."""

from contracts.backfills import amounts, blooms, indexes, logs
from ledger.backfills import blocks, loaded_ranges, rewards
from mirror.core.db.schema.backfill import INDEX_BUILDS, TITLES, Backfill, IndexBuild, MonthlyPartitioning
from tokens.backfills import NFT_TRANSFERS

_OF_ROWS = (
    amounts.SPENT_BY_CONTRACTS, blocks.TIMES, blooms.BLOOMS, indexes.CHILDREN, indexes.POSITIONS,
    loaded_ranges.RANGES, logs.DUPLICATES, NFT_TRANSFERS,
    logs.HASHES, logs.SYNTHETIC, rewards.DELETED_NODES, rewards.LONG_STAKES, amounts.WEIBARS,
    MonthlyPartitioning(name="monthly_partitions"),
)  # fmt: skip
_BY_NAME = INDEX_BUILDS | {backfill.name: backfill for backfill in _OF_ROWS}
BACKFILLS: dict[str, Backfill | IndexBuild | MonthlyPartitioning] = {name: _BY_NAME[name] for name in TITLES}
