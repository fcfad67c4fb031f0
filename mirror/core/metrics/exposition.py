"""The metrics in the text format of Prometheus.

Source: the counts of all processes (`mirror.core.metrics.files`), and what collectors say that were added.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

# The modules that declare metrics: all are shown, also those that nothing in this process counts.
from mirror.core.metrics import files
from mirror.core.metrics import grpc as grpc
from mirror.core.metrics.types import METRICS, Counter, Histogram, Labels, Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

#: Values read at each scrape: metric -> labels -> value.
Read = Callable[[], Iterable[tuple[Metric, Labels, float]]]


def text(readers: Sequence[Read] = ()) -> bytes:
    """Return all metrics; `readers` add values that are not counted."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Node(readers))
    return generate_latest(registry)


class _Node(Collector):
    def __init__(self, readers: Sequence[Read]) -> None:
        self._readers = readers

    def collect(self) -> Iterator[Family]:
        values = {name: dict(of_labels) for name, of_labels in files.read().values.items()}
        for read in self._readers:
            for metric, labels, value in read():
                values.setdefault(metric.name, {})[labels] = value
        for name, metric in sorted(METRICS.items()):
            # What has never happened is 0: without it, no graph would show the first time.
            begun = {(): 0} if isinstance(metric, Counter) and not metric.labels else {}
            yield _family(metric, begun | values.get(name, {}))


def _family(metric: Metric, values: dict[Labels, Any]) -> Family:
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
