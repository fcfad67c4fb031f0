"""Metrics of the gRPC API, under the names of the original and of its dashboards."""

from mirror.core.metrics.types import Counter, Gauge, Histogram

SUBSCRIBERS = Gauge("hiero_mirror_grpc_subscribers", "Subscriptions of topics that are open.", ("type",))
CONSENSUS_LATENCY = Histogram(
    "hiero_mirror_grpc_consensus_latency_seconds",
    "Time from the consensus of a message to its delivery, of messages that were new to the subscription.",
)
CALLS = Histogram("grpc_server_processing_duration_seconds", "Duration of calls that have ended, by their "
                  "status.", ("service", "method", "methodType", "statusCode"))  # fmt: skip
RECEIVED = Counter("grpc_server_requests_received_messages_total", "Requests that were received.",
                   ("service", "method", "methodType"))  # fmt: skip
SENT = Counter("grpc_server_responses_sent_messages_total", "Messages and nodes that were sent.",
               ("service", "method", "methodType"))  # fmt: skip
