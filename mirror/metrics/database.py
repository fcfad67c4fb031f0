"""Metrics of the database and of the connections to it."""

from mirror.metrics.kinds import Counter, Gauge

UP = Gauge("mirror_database_up", "1 while the database answers, else 0.")
BYTES = Gauge("mirror_database_bytes", "Size of the database.")
ROWS = Gauge("mirror_database_rows", "Rows of each table, as PostgreSQL estimates.", ("table",))
CONNECTIONS = Gauge("mirror_database_connections", "Sessions of the database, by state.", ("state",))
MOST_CONNECTIONS = Gauge("mirror_database_connections_max", "Sessions that PostgreSQL allows.")
OUTAGES = Counter("mirror_database_outages_total", "Times at which the database went away.")
