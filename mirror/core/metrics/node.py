"""Gauges of the node as a whole: its health, its database and replicas, its processes and disks."""

from collections.abc import Mapping
from typing import NamedTuple

from prometheus_client.core import GaugeMetricFamily


class Gauge(NamedTuple):
    """A gauge of the node as a whole, which one process reports. A label without a value is left out."""

    name: str
    help: str
    labels: tuple[str, ...] = ()

    def family(self, values: Mapping[tuple[str, ...], float]) -> GaugeMetricFamily:
        family = GaugeMetricFamily(self.name, self.help, labels=self.labels)
        for labels, value in values.items():
            family.add_metric(labels, value)
        return family


BUILD = Gauge("mirror_build_info", "Always 1; the labels say what runs.", ("version", "python", "network"))
READY = Gauge("mirror_ready", "1 while /health/readiness answers 200, else 0.")
STUCK = Gauge("mirror_stuck", "1 while the loader can't go on: `manage.py status` says why.")
LAG = Gauge("mirror_lag_seconds", "Seconds from the last block to now.")
BLOCK = Gauge("mirror_last_block", "Number of the last block.")
FIRST_BLOCK = Gauge("mirror_first_block", "Number of the first block that is loaded.")
GAPS = Gauge("mirror_gaps", "Gaps between the first and the last block that is loaded.")
DIFFERING = Gauge(
    "mirror_balances_differing", "Balances that the newest balance file of the network states otherwise."
)
COMPARED_TIME = Gauge("mirror_balances_timestamp_seconds", "Consensus time of that balance file.")
COMPARED = Gauge("mirror_balances_files", "Balance files that the node was compared with.")
BLOCK_TIME = Gauge("mirror_last_block_timestamp_seconds", "Consensus time of the end of the last block.")
FOLLOWING = Gauge("mirror_following", "1 if the node follows a stream, else 0.")
LOADER = Gauge("mirror_loader", "1 for what the loader is doing.", ("activity",))
BLOCK_NODE = Gauge("mirror_block_node", "1 for the block node that blocks come from.", ("node",))
BLOCK_NODE_LATENCY = Gauge("mirror_block_node_latency_seconds", "Mean time from the end of a block to its "
                           "arrival from each block node, as far as it is known.", ("node",))  # fmt: skip
BLOCK_NODE_ASIDE = Gauge(
    "mirror_block_node_set_aside", "1 while a block node is asked last, as it has failed.", ("node",)
)
RATE = Gauge("mirror_loader_transactions_per_second", "Transactions that were loaded, over the last minute.")
BACKFILLS = Gauge("mirror_backfills_left", "Steps of an upgrade that are left to do.")
BACKFILL = Gauge("mirror_backfill_share", "Share of each step of an upgrade that is done.", ("step",))
DEATHS = Gauge("mirror_deaths_last_hour", "Processes of the node that died within an hour.", ("process",))

PROCESSES = Gauge("mirror_processes", "Processes of the node, by what they do.", ("role",))
PROCESSOR = Gauge(
    "mirror_process_processor_seconds", "Processor time of each process since it began.", ("role", "pid")
)
MEMORY = Gauge(
    "mirror_process_resident_bytes", "Memory of each process, shared parts included.", ("role", "pid")
)
OPEN_FILES = Gauge("mirror_process_open_files", "Open files and sockets of each process.", ("role", "pid"))
DISK_FREE = Gauge("mirror_disk_free_bytes", "Free space where something is kept: data, database.", ("of",))
DISK = Gauge("mirror_disk_bytes", "Size of that disk.", ("of",))

DATABASE_UP = Gauge("mirror_database_up", "1 while the database answers, else 0.")
DATABASE_BYTES = Gauge("mirror_database_bytes", "Size of the database.")
DATABASE_ROWS = Gauge("mirror_database_rows", "Rows of each table, as PostgreSQL estimates.", ("table",))
CONNECTIONS = Gauge("mirror_database_connections", "Sessions of the database, by state.", ("state",))
MAX_CONNECTIONS = Gauge("mirror_database_connections_max", "Sessions that PostgreSQL allows.")
REPLICA_UP = Gauge("mirror_replica_up", "1 while a replica answers, else 0.", ("replica",))
REPLICA_LAG = Gauge("mirror_replica_lag_seconds", "Seconds that a replica is behind.", ("replica",))
REPLICA_LAG_BLOCKS = Gauge("mirror_replica_lag_blocks", "Blocks that a replica is behind.", ("replica",))
