"""The metrics of all processes (`mirror.core.metrics.files`) in the text format of Prometheus."""

from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

# The modules that declare metrics: all are shown, also those that nothing in this process counts.
from mirror.core.metrics import files
from mirror.core.metrics import grpc as grpc
from mirror.core.metrics.types import METRICS, Counter, Histogram, Metric, Values

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def text() -> bytes:
    """Return all metrics."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Node())
    return generate_latest(registry)


class _Node(Collector):
    def collect(self) -> Iterator[Family]:
        values = files.read().values
        for name, metric in sorted(METRICS.items()):
            # What has never happened is 0: without it, no graph would show the first time.
            begun: Values = {(): 0} if isinstance(metric, Counter) and not metric.labels else {}
            yield _family(metric, {**begun, **values.get(name, {})})


def _family(metric: Metric, values: Values) -> Family:
    if isinstance(metric, Histogram):
        histogram = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
        bounds = [*map(str, metric.bounds), "+Inf"]
        for labels, (total, *counts) in sorted(values.items()):
            histogram.add_metric(
                labels, buckets=list(zip(bounds, accumulate(counts), strict=True)), sum_value=total
            )
        return histogram
    kind = CounterMetricFamily if isinstance(metric, Counter) else GaugeMetricFamily
    family = kind(metric.name, metric.help, labels=metric.labels)
    for labels, value in sorted(values.items()):
        family.add_metric(labels, value)
    return family
