"""Metrics of the database and of the connections to it."""

from mirror.core.metrics.types import Counter, Gauge

UP = Gauge("mirror_database_up", "1 while the database answers, else 0.")
BYTES = Gauge("mirror_database_bytes", "Size of the database.")
ROWS = Gauge("mirror_database_rows", "Rows of each table, as PostgreSQL estimates.", ("table",))
CONNECTIONS = Gauge("mirror_database_connections", "Sessions of the database, by state.", ("state",))
MAX_CONNECTIONS = Gauge("mirror_database_connections_max", "Sessions that PostgreSQL allows.")
OUTAGES = Counter("mirror_database_outages_total", "Times at which the database went away.")
CONFLICTS = Counter("mirror_replica_conflicts_total", "Statements that a replica cancelled, as they "
                    "conflicted with changes of its primary.", ("replica",))  # fmt: skip
REPLICA_UP = Gauge("mirror_replica_up", "1 while a replica answers, else 0.", ("replica",))
REPLICA_LAG = Gauge("mirror_replica_lag_seconds", "Seconds that a replica is behind.", ("replica",))
REPLICA_LAG_BLOCKS = Gauge("mirror_replica_lag_blocks", "Blocks that a replica is behind.", ("replica",))
