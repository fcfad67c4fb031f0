"""Counters of the connections to the database."""

from prometheus_client import Counter

OUTAGES = Counter("mirror_database_outages_total", "Times at which the database went away.")
CONFLICTS = Counter("mirror_replica_conflicts_total", "Statements that a replica cancelled, as they "
                    "conflicted with changes of its primary.", ("replica",))  # fmt: skip
