"""Metrics of requests and of the response cache."""

from prometheus_client import Counter, Gauge, Histogram

from mirror.core.metrics import BUCKETS

REQUESTS = Histogram(
    "mirror_http_request_seconds",
    "Time from the arrival of a request to its answer, by documented path and status. Answers of the API "
    "with 4xx or 503 are counted together, with the path `/api/v1/`.",
    ("route", "method", "status"),
    buckets=BUCKETS,
)
CACHE = Counter(
    "mirror_http_cache_total", "Requests that were looked up in the response cache, by outcome.", ("outcome",)
)
WAITING = Gauge(
    "mirror_http_waiting",
    "Requests that wait for one of the database connections, quick or slow.",
    ("kind",),
    multiprocess_mode="livesum",
)
WORKING = Gauge(
    "mirror_http_working",
    "Requests that are worked on with a database connection, quick or slow.",
    ("kind",),
    multiprocess_mode="livesum",
)
