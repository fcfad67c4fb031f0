"""The list of all metrics, as docs/metrics.md ends with it.

Print it anew by `python -m tests.mirror.core.metrics.table`.
"""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from mirror.core import metrics
from mirror.core.metrics.types import METRICS

HEADING = "## Every metric"

# By the beginning of the name, in the order of the page.
_SUBJECTS = {
    "mirror_http_": "Requests",
    "mirror_ingest_": "Loading",
    "mirror_simulation_": "Simulated calls",
    "mirror_database_": "The database",
    "mirror_process": "Processes",
    "mirror_disk_": "Disks",
    "grpc_server_": "gRPC",
    "hiero_mirror_grpc_": "Subscriptions of topics",
    "mirror_": "The node",
}


def markdown() -> str:
    for module in iter_modules(metrics.__path__):
        import_module(f"mirror.core.metrics.{module.name}")
    return "\n".join((HEADING, *_lines()))


def _lines() -> Iterator[str]:
    left = dict(sorted(METRICS.items()))
    for prefix, subject in _SUBJECTS.items():
        yield from ("", f"### {subject}", "", "| Metric | Kind | Labels | Meaning |", "|---|---|---|---|")
        for name in [name for name in left if name.startswith(prefix)]:
            metric = left.pop(name)
            labels = ", ".join(f"`{label}`" for label in metric.labels)
            yield f"| `{name}` | {type(metric).__name__.lower()} | {labels} | {metric.help} |"


if __name__ == "__main__":
    print(markdown())
