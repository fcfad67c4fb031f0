"""The list of all metrics, as docs/metrics.md ends with it.

Print it anew by `python -m tests.mirror.core.metrics.table`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mirror.core import metrics

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


_KINDS = ("Counter", "Gauge", "Histogram")


class Declared(NamedTuple):
    """A metric as a module declares it; `kind` is counter, gauge or histogram."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...]


def declared() -> dict[str, Declared]:
    """Return all metrics by name. The client has no public way from a metric to its labels."""
    found = {}
    for path in Path(metrics.__file__).parent.glob("[!_]*.py"):
        tree = ast.parse(path.read_text())
        constants = {
            node.targets[0].id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for value in constants.values():
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _KINDS:
                name, help, *labels = value.args
                names = _texts(labels[0], constants) if labels else ()
                metric = Declared(
                    ast.literal_eval(name), value.func.id.lower(), ast.literal_eval(help), names
                )
                found[metric.name] = metric
    return dict(sorted(found.items()))


def _texts(node: ast.expr, constants: dict[str, ast.expr]) -> tuple[str, ...]:
    """Return the strings of a tuple, which may be a constant or contain one."""
    if isinstance(node, ast.Starred):
        return _texts(node.value, constants)
    if isinstance(node, ast.Name):
        return _texts(constants[node.id], constants)
    if isinstance(node, ast.Tuple):
        return tuple(text for each in node.elts for text in _texts(each, constants))
    return (ast.literal_eval(node),)


def markdown() -> str:
    return "\n".join((HEADING, *_lines()))


def _lines() -> Iterator[str]:
    left = declared()
    for prefix, subject in _SUBJECTS.items():
        yield from ("", f"### {subject}", "", "| Metric | Kind | Labels | Meaning |", "|---|---|---|---|")
        for name in [name for name in left if name.startswith(prefix)]:
            metric = left.pop(name)
            labels = ", ".join(f"`{label}`" for label in metric.labels)
            yield f"| `{name}` | {metric.kind} | {labels} | {metric.help} |"


if __name__ == "__main__":
    print(markdown())
