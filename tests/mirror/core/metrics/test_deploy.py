"""The board, the alerts and the page about metrics name the metrics that there are, and leave out none."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from tests.mirror.core.metrics import table

ROOT = Path(settings.BASE_DIR)
DOCS = ROOT / "mirror" / "docs"
BOARD = ROOT / "deploy" / "grafana" / "ledger-mirror.json"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
SCRAPE = ROOT / "deploy" / "prometheus" / "prometheus.yml"
# A metric with its selector, if it has one, as a query names it.
NAMED = re.compile(r"\b((?:mirror|grpc_server|hiero_mirror_grpc)_[a-z0-9_]+)(?:\{(.*?)\})?")
GROUPED = re.compile(r"\bby \(([\w, ]+)\)")
# Labels that Prometheus adds, and that of a bucket.
ADDED = {"instance", "job", "le"}


# The last two are those of the original, and of its dashboards.
PREFIXES = ("mirror_", "grpc_server_", "hiero_mirror_grpc_")


METRICS = table.declared()


def board_queries() -> list[str]:
    panels = json.loads(BOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def series() -> dict[str, set[str]]:
    """Return every name that a query may use, with its labels."""
    names: dict[str, set[str]] = {}
    for name, metric in METRICS.items():
        suffixes = ("_bucket", "_count", "_sum") if metric.kind == "histogram" else ("",)
        names |= {f"{name}{suffix}": set(metric.labels) for suffix in suffixes}
    return names


QUERIES = [*board_queries(), *(rule["expr"] for rule in rules())]


@pytest.mark.parametrize("query", sorted(set(QUERIES)))
def test_every_query_names_metrics_and_labels_that_there_are(query: str) -> None:
    known = series()
    named = NAMED.findall(query)

    assert named or query.startswith("up{")
    labels = set(ADDED)
    for name, selector in named:
        assert name in known
        assert set(re.findall(r"(\w+)(?:=~|!=|!~|=)\"", selector)) <= known[name] | ADDED
        labels |= known[name]
    for group in GROUPED.findall(query):
        assert set(group.split(", ")) <= labels


def test_every_metric_is_on_the_board() -> None:
    named = {name for query in board_queries() for name, _ in NAMED.findall(query)}
    shown = {name for name in METRICS if named & {name, f"{name}_bucket", f"{name}_count"}}

    assert METRICS.keys() - shown == set()


def test_panels_of_the_board_have_numbers_and_places_of_their_own() -> None:
    panels = json.loads(BOARD.read_text())["panels"]
    places = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len(set(places)) == len(places)
    assert max(x for x, _ in places) == 23


def test_every_alert_says_what_happened_and_where_to_read_what_to_do() -> None:
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("page", "ticket")
        text = " ".join(rule["annotations"].values())
        pages = re.findall(r"/docs/(\w+)", text)
        assert pages
        assert all((DOCS / f"{page}.md").exists() for page in pages)
        labels = set().union(*(series()[name] for name, _ in NAMED.findall(rule["expr"])))
        assert set(re.findall(r"\$labels\.(\w+)", text)) <= labels | ADDED


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool: apt-get install prometheus")
def test_prometheus_itself_can_read_the_alerts_and_the_example() -> None:
    for kind, file in (("rules", ALERTS), ("config", SCRAPE)):
        subprocess.run(["promtool", "check", kind, file], check=True, capture_output=True)


@pytest.mark.parametrize("query", sorted(set(QUERIES)))
def test_no_query_matches_a_number_by_labels(query: str) -> None:
    assert not re.search(r"\d *[-+*/<>=]+ *(on|ignoring) *\(", query)


def test_the_example_of_prometheus_reads_the_alerts_and_the_metrics() -> None:
    example = yaml.safe_load(SCRAPE.read_text())
    (job,) = example["scrape_configs"]

    assert example["rule_files"] == [ALERTS.name]
    assert job["metrics_path"] == "/metrics"
    assert f'job="{job["job_name"]}"' in ALERTS.read_text()


def test_the_page_ends_with_every_metric() -> None:
    assert (DOCS / "metrics.md").read_text().partition(table.HEADING)[2] == (
        table.markdown().removeprefix(table.HEADING) + "\n"
    ), "print the end of the page anew: .venv/bin/python -m tests.mirror.core.metrics.table"


def test_metrics_are_named_as_prometheus_expects_and_explained_in_sentences() -> None:
    for name, metric in METRICS.items():
        assert re.fullmatch(rf"({'|'.join(PREFIXES)})[a-z_]+", name)
        assert name.endswith("_total") == (metric.kind == "counter")
        assert metric.help.endswith(".")
