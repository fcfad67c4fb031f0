"""The migrated database, compared with the committed statement and with the reference if it is there."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from mirror.core.db.schema.backfill import IndexBuild
from mirror.upgrade.runner import BACKFILLS
from tests.mirror.core.db.describe import column_text, describe, index_text

STATEMENT = Path(__file__).with_name("schema.json")
DIFFERENCES = Path(__file__).parents[4] / "mirror/docs/differences.md"
REFERENCE = Path(__file__).parents[5] / "shared" / "reference" / "schema.json"


pytestmark = pytest.mark.django_db


@pytest.fixture
def migrated(db: None) -> dict[str, Any]:
    return describe(connection)


@pytest.fixture
def reference() -> dict[str, Any]:
    if not REFERENCE.exists():
        pytest.skip(f"{REFERENCE} is not there")
    content: dict[str, Any] = json.loads(REFERENCE.read_text())
    return _newer(content)


def _newer(reference: dict[str, Any]) -> dict[str, Any]:
    """Return the reference's schema, which is that of release 0.145.1, with what changed up to 0.160."""
    reference["enums"]["hook_type"] = ["EVM"]
    tables = reference["tables"]["public"]
    for table in ("record_file", "account_balance_file"):
        tables[table]["columns"] = [c for c in tables[table]["columns"] if c["name"] != "node_id"]
    for table in ("hook", "hook_history"):
        (kind,) = [c for c in tables[table]["columns"] if c["name"] == "type"]
        kind["default"] = kind["default"].replace("LAMBDA", "EVM")
    ethereum = tables["ethereum_transaction"]
    ethereum["columns"] = [c for c in ethereum["columns"] if c["name"] != "access_list"]
    for table, columns in NEWER_COLUMNS.items():
        for name, (kind, default) in columns.items():
            column = {"name": name, "type": kind, "nullable": default is None, "default": default}
            tables[table]["columns"].append(column)
    tables["contract_log"]["indexes"].append(SYNTHETIC_INDEX)
    return reference


NEWER_COLUMNS: dict[str, dict[str, tuple[str, str | None]]] = {
    "contract_log": {"synthetic": ("boolean", None)},
    "entity": {"delegation_address": ("bytea", None)},
    "entity_history": {"delegation_address": ("bytea", None)},
    "ethereum_transaction": {
        "authorization_list": ("jsonb", None),
        "access_list": ("jsonb", None),
        # This one is ours.
        "in_weibars": ("boolean", "true"),
    },
    "node": {"associated_registered_nodes": ("bigint[]", None)},
    "node_history": {"associated_registered_nodes": ("bigint[]", None)},
    "record_file": {
        "previous_wrapped_record_block_hash": ("bytea", None),
        "wrapped_record_block_hash": ("bytea", None),
        "receipts_root": ("bytea", None),
    },
    "transaction": {
        "high_volume": ("boolean", "false"),
        "congestion_pricing_multiplier": ("bigint", None),
        "high_volume_pricing_multiplier": ("bigint", None),
    },
}
NEWER_TABLES = {"ledger", "registered_node", "registered_node_history"}
SYNTHETIC_INDEX = {
    "name": "contract_log__synthetic_timestamp",
    "unique": False,
    "method": "btree",
    "columns": ["consensus_timestamp DESC", "index DESC"],
    "where": "synthetic",
}

# Indexes that lists need at any size, beside those of the reference.
OWN_INDEXES = {build.index for build in BACKFILLS.values() if isinstance(build, IndexBuild)} - {
    SYNTHETIC_INDEX["name"]
}
# Those of the reference in whose place is one that begins with the same columns.
REPLACED = {build.replaced for build in BACKFILLS.values() if isinstance(build, IndexBuild)} - {""}


def test_the_migrations_make_the_committed_schema(migrated: dict[str, Any]) -> None:
    assert migrated == json.loads(STATEMENT.read_text())


def test_every_table_is_as_in_the_reference(migrated: dict[str, Any], reference: dict[str, Any]) -> None:
    wanted = {}
    for name, table in reference["tables"]["public"].items():
        wanted[name] = {
            "columns": [column_text(column) for column in table["columns"]],
            "primary_key": table["primary_key"],
            "indexes": [index_text(index) for index in table["indexes"] if index["name"] not in REPLACED],
        }
        if "storage_parameters" in table:
            wanted[name]["storage_parameters"] = table["storage_parameters"]
        if "partitioning" in table:
            wanted[name]["partition_key"] = table["partitioning"]["key"]

    tables = migrated["tables"]
    for table in tables.values():
        table["indexes"] = [text for text in table["indexes"] if text.partition(":")[0] not in OWN_INDEXES]
    assert {name: tables.get(name) for name in wanted} == wanted


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


def test_what_the_reference_lacks_is_named_in_the_docs(migrated, reference):
    named = set(re.findall(r"^\| `(\w+(?:\.\w+)?)` \|", DIFFERENCES.read_text(), re.MULTILINE))
    known = reference["tables"]["public"].keys() | NEWER_TABLES
    own = (migrated["tables"].keys() - known) | {"ethereum_transaction.in_weibars"}
    assert own <= named
