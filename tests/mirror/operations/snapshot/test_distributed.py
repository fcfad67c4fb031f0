"""Snapshots out of a distributed database, and into one."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_django

from mirror.operations.backup.manifest import SNAPSHOT, Manifest
from tests import cluster
from tests.ledger.ingest.load import load, settings
from tests.mirror.operations.snapshot.test_snapshot import BLOCKS, blocks, save
from tests.node import manage

pytestmark = cluster.needs_cluster

_FEW_SHARDS = {"SVC_MIRROR_DB_SHARDCOUNT": "2", "SVC_MIRROR_DB_HASHSHARDCOUNT": "1"}


@pytest.fixture
def url() -> Iterator[str]:
    """The address of an empty database of the cluster."""
    name = f"test_snapshot_{os.getpid()}"
    yield cluster.make(name)
    cluster.drop(name)


def rows(folder: Path) -> dict[str, list[bytes]]:
    """Return the rows of each table of a snapshot, in an order of their own."""
    found: dict[str, list[bytes]] = {}
    for file in Manifest.read(folder, SNAPSHOT).files:
        content = gzip.decompress((folder / file.name).read_bytes()).removesuffix(b"\\.\n\n\n")
        found.setdefault(file.table, []).extend(content.splitlines())
    return {table: sorted(lines) for table, lines in found.items() if lines}


def test_snapshot_goes_from_one_distributed_database_into_another(
    ledger_tables: None, django_db_blocker: pytest_django.DjangoDbBlocker, url: str, tmp_path: Path
) -> None:
    with django_db_blocker.unblock(), settings(network="simulated"):
        load(*blocks()[:BLOCKS])
        save(tmp_path / "one")
    node = {"DATABASE_URL": url, "SVC_MIRROR_DB_DISTRIBUTED": "true", "SVC_MIRROR_NETWORK": "simulated"}

    for action, folder in (("load", "one"), ("save", "two")):
        done = manage("snapshot", action, str(tmp_path / folder), **node, **_FEW_SHARDS)
        assert done.returncode == 0, done.stderr

    one, two = rows(tmp_path / "one"), rows(tmp_path / "two")
    assert {"transaction", "crypto_transfer", "record_file", "loaded_range"} <= one.keys()
    assert two == one
