"""Metrics of simulated contract calls and opcode traces, and of the processes that run them."""

from prometheus_client import Counter, Gauge, Histogram

from mirror.core.metrics import BUCKETS

SECONDS = Histogram(
    "mirror_simulation_seconds",
    "Time of simulated calls and traces, with waiting for a process, by pool and whether they were answered.",
    ("pool", "outcome"),
    buckets=BUCKETS,
)
GAS = Counter("mirror_simulation_gas_total", "Gas that simulated calls used.")
REFUSED = Counter(
    "mirror_simulation_refused_total",
    "Calls that were refused for now, by the limit or the reason.",
    ("reason",),
)
WORKERS = Gauge(
    "mirror_simulation_workers",
    "Processes that run calls, by pool and state: idle, busy, starting.",
    ("pool", "state"),
    multiprocess_mode="livesum",
)
WAITING = Gauge(
    "mirror_simulation_waiting",
    "Calls that wait for a process, by pool.",
    ("pool",),
    multiprocess_mode="livesum",
)
LOST = Counter(
    "mirror_simulation_lost_total",
    "Processes that died or were ended in the middle of a call, by reason.",
    ("reason",),
)
