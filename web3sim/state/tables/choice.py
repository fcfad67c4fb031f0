"""The choice of what answers about a state: one of four classes, by its time and by where the tables are."""

from mirror.core.db.distribution import is_distributed
from web3sim.state.database import Reading
from web3sim.state.tables.current import CurrentTables
from web3sim.state.tables.distributed.current import DistributedCurrentTables
from web3sim.state.tables.distributed.historical import DistributedHistoricalTables
from web3sim.state.tables.historical.accounts import HistoricalTables
from web3sim.state.tables.interface import Tables


def tables_at(time: int | None, reading: Reading) -> Tables:
    """Return the state just after a time (ns); None is now."""
    if is_distributed():
        if time is None:
            return DistributedCurrentTables(reading)
        return DistributedHistoricalTables(time, reading)
    return CurrentTables(reading) if time is None else HistoricalTables(time, reading)
