"""Traces of requests by OpenTelemetry, if telemetry.endpoint names a collector."""

from mirror.core import config

ENDPOINT = "telemetry.endpoint"


def start() -> None:
    """Send a span of each request of this process; nothing without the setting."""
    endpoint = config.value(ENDPOINT)
    if not endpoint:
        return
    # A node without traces does not need these packages.
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.instrumentation.django import DjangoInstrumentor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # The resource's own variables (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES) take precedence.
    provider = TracerProvider(resource=Resource({"service.name": "ledger-mirror"}).merge(Resource.create()))
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    DjangoInstrumentor().instrument(excluded_urls="health/.*,metrics")
