"""Metrics of the gRPC API, under the names of the original and of its dashboards."""

from prometheus_client import Counter, Gauge, Histogram

from mirror.core.metrics import BUCKETS

_METHOD = ("service", "method", "methodType")

SUBSCRIBERS = Gauge(
    "hiero_mirror_grpc_subscribers",
    "Subscriptions of topics that are open.",
    ("type",),
    multiprocess_mode="livesum",
)
CONSENSUS_LATENCY = Histogram(
    "hiero_mirror_grpc_consensus_latency_seconds",
    "Time from the consensus of a message to its delivery, of messages that were new to the subscription.",
    buckets=BUCKETS,
)
CALLS = Histogram(
    "grpc_server_processing_duration_seconds",
    "Duration of calls that have ended, by their status.",
    (*_METHOD, "statusCode"),
    buckets=BUCKETS,
)
RECEIVED = Counter("grpc_server_requests_received_messages_total", "Requests that were received.", _METHOD)
SENT = Counter("grpc_server_responses_sent_messages_total", "Messages and nodes that were sent.", _METHOD)
