"""Recorded stream files and what is known of them (`facts.json`). Without them their tests are skipped."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[3]
ROOT = Path(os.environ.get("MIRROR_FIXTURES") or PROJECT.parent / "shared" / "fixtures")
PRESENT = (ROOT / "facts.json").is_file()

needs_fixtures = pytest.mark.skipif(not PRESENT, reason="no recorded stream files (MIRROR_FIXTURES)")


def facts(kind: str) -> list[Any]:
    """A list of facts.json, as pytest parameters with readable ids; empty when there is none."""
    if not PRESENT:
        return []
    listed = json.loads((ROOT / "facts.json").read_text()).get(kind, [])
    return [
        pytest.param(fact, id="/".join(filter(None, (fact.get("group"), fact["name"])))) for fact in listed
    ]


def files(fact: Any, name: str) -> list[Path]:
    """Every node's copy of a file of the fact's group."""
    return sorted((ROOT / fact["group"]).rglob(name))


def node_id(path: Path) -> int:
    """The node whose folder a file lies in, in either bucket layout."""
    folder = path.parent.parent if path.parent.name == "sidecar" else path.parent
    if folder.name.startswith("record0.0."):
        return int(folder.name.rpartition(".")[2]) - 3
    assert folder.name == "record"
    return int(folder.parent.name)
