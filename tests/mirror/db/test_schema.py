"""The migrated database, compared with the committed statement and with the reference if it is there."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from tests.mirror.db.describe import column_text, describe, index_text

STATEMENT = Path(__file__).with_name("schema.json")
REFERENCE = Path(__file__).parents[4] / "shared" / "reference" / "schema.json"


pytestmark = pytest.mark.django_db


@pytest.fixture
def migrated(db: None) -> dict[str, Any]:
    return describe(connection)


@pytest.fixture
def reference() -> dict[str, Any]:
    if not REFERENCE.exists():
        pytest.skip(f"{REFERENCE} is not there")
    content: dict[str, Any] = json.loads(REFERENCE.read_text())
    return content


def test_the_migrations_make_the_committed_schema(migrated: dict[str, Any]) -> None:
    assert migrated == json.loads(STATEMENT.read_text())


def test_every_table_is_as_in_the_reference(migrated: dict[str, Any], reference: dict[str, Any]) -> None:
    wanted = {}
    for name, table in reference["tables"]["public"].items():
        wanted[name] = {
            "columns": [column_text(column) for column in table["columns"]],
            "primary_key": table["primary_key"],
            "indexes": [index_text(index) for index in table["indexes"]],
        }
        if "storage_parameters" in table:
            wanted[name]["storage_parameters"] = table["storage_parameters"]
        if "partitioning" in table:
            wanted[name]["partition_key"] = table["partitioning"]["key"]

    assert {name: migrated["tables"].get(name) for name in wanted} == wanted


def test_everything_else_is_as_in_the_reference(migrated: dict[str, Any], reference: dict[str, Any]) -> None:
    assert migrated["enums"] == reference["enums"]
    assert migrated["domains"] == reference["domains"]
    assert migrated["sequences"] == reference["sequences"]
    assert migrated["constraints"] == reference["constraints"]
    assert set(migrated["extensions"]) == set(reference["extensions"]) - {"pg_stat_statements"}
    assert migrated["routines"] == {
        name: entry.get("returns", entry.get("kind")) for name, entry in reference["functions"].items()
    }
    columns = reference["views"]["mirror_node_time_partitions"]["columns"]
    assert list(migrated["views"]) == list(reference["views"])
    for ours, theirs in zip(migrated["views"]["mirror_node_time_partitions"], columns, strict=True):
        assert ours.startswith(theirs)


def test_models_and_migrations_agree() -> None:
    said = StringIO()
    call_command("makemigrations", check=True, dry_run=True, stdout=said)
    assert "No changes" in said.getvalue()
