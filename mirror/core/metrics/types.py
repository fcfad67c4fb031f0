"""Kinds of metrics: counters, gauges and histograms in the memory of a process.

A metric has one value for each combination of its labels. Any thread may change it. A process that a fork has
made begins with none of its parent's counts.
"""

import os
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Labels = tuple[str, ...]
#: Labels -> value, as files hold it: a number, or of a histogram its sum and the counts of its buckets.
Values = Mapping[Labels, Any]

#: Every metric by its name.
METRICS: dict[str, "Metric"] = {}

#: Upper bounds in seconds. They are few: each makes a line of /metrics for every endpoint.
SECONDS = (0.0025, 0.01, 0.05, 0.25, 1.0, 5.0)


class Metric:
    """A metric; `labels` are the names of its labels, `help` is a sentence for people."""

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        assert name not in METRICS, f"{name} is declared twice"
        self.name, self.help, self.labels = name, help, tuple(labels)
        self._lock = threading.Lock()
        self._values: dict[Labels, Any] = {}
        METRICS[name] = self

    def values(self) -> Values:
        """Return a copy of the values of this process."""
        with self._lock:
            return dict(self._values)

    def reset(self) -> None:
        """Reset the values after a fork."""
        self._lock = threading.Lock()
        self._values = {}

    def accepts(self, labels: Sequence[str], value: Any) -> bool:
        return len(labels) == len(self.labels) and isinstance(value, int | float)

    @staticmethod
    def sum(values: Iterable[Any]) -> Any:
        """Return one value for several processes."""
        return sum(values)


class Counter(Metric):
    """Something that is counted, and never falls. Its name ends in `_total`."""

    def add(self, *labels: str, by: float = 1) -> None:
        with self._lock:
            self._values[labels] = self._values.get(labels, 0) + by


class Gauge(Metric):
    """Something that rises and falls. That of the node is the sum of its processes that run."""

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help, labels)
        self._read: dict[Labels, Callable[[], float]] = {}

    def set(self, values: Values) -> None:
        """Set the values of all labels: others have none from now on."""
        with self._lock:
            self._values = dict(values)

    def read_from(self, read: Callable[[], float], *labels: str) -> None:
        """Call `read` for the value at each scrape."""
        self._read[labels] = read

    def values(self) -> Values:
        return {**super().values(), **{labels: read() for labels, read in list(self._read.items())}}

    def reset(self) -> None:
        super().reset()
        self._read = {}


class Histogram(Metric):
    """Amounts, counted by size: how many were at most as large as each of the bounds, and their sum."""

    def __init__(
        self, name: str, help: str, labels: Sequence[str] = (), bounds: Sequence[float] = SECONDS
    ) -> None:
        super().__init__(name, help, labels)
        self.bounds = tuple(bounds)

    def observe(self, amount: float, *labels: str) -> None:
        bucket = bisect_left(self.bounds, amount) + 1
        with self._lock:
            value = self._values.get(labels)
            if value is None:
                # The sum, the bucket of each bound, and that of everything larger.
                value = self._values[labels] = [0.0] * (len(self.bounds) + 2)
            value[0] += amount
            value[bucket] += 1

    def values(self) -> Values:
        with self._lock:
            return {labels: list(value) for labels, value in self._values.items()}

    def quantile(self, share: float, value: Sequence[float]) -> float | None:
        """Return the amount that this share of all does not exceed, as nearly as the buckets tell.

        Within a bucket, amounts count as evenly spread; nothing is known above the last bound.
        """
        rank = share * sum(value[1:])
        if not rank:
            return None
        lower = 0.0
        for upper, count in zip(self.bounds, value[1:], strict=False):
            if rank <= count:
                return lower + (upper - lower) * rank / count
            rank, lower = rank - count, upper
        return lower

    def accepts(self, labels: Sequence[str], value: Any) -> bool:
        is_ours = isinstance(value, list) and len(value) == len(self.bounds) + 2
        return is_ours and len(labels) == len(self.labels)

    @staticmethod
    def sum(values: Iterable[Any]) -> Any:
        return [sum(parts) for parts in zip(*values, strict=True)]


def _reset() -> None:
    for metric in METRICS.values():
        metric.reset()


os.register_at_fork(after_in_child=_reset)
