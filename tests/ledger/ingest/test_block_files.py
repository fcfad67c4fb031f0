"""Blocks into tables: recorded ones as the network counted them, wrapped ones as the files they wrap."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from ledger.ingest.errors import IngestError
from ledger.ingest.pipeline import Pipeline, Progress
from ledger.stream import StreamFileError
from ledger.stream.block_name import parse
from ledger.stream.block_source import block_file
from ledger.stream.source import find_record_files
from tests.ledger.ingest.load import settings, stored
from tests.ledger.ingest.tables import contents, empty_tables
from tests.ledger.stream.fixtures import ROOT, facts, needs_fixtures

pytestmark = pytest.mark.usefixtures("ledger_tables")


def load(*paths: Path, allow_gap: bool = False) -> Progress:
    return Pipeline(allow_gap=allow_gap).run(find_record_files(paths))


def groups() -> dict[str, list[dict[str, Any]]]:
    """The recorded blocks of one network, in the folder of their generation, in order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for (fact,) in (each.values for each in facts("blocks")):
        found.setdefault("/".join(fact["name"].split("/")[:2]), []).append(fact)
    return {folder: sorted(group, key=lambda fact: int(fact["number"])) for folder, group in found.items()}


@needs_fixtures
@pytest.mark.parametrize("folder", groups())
def test_recorded_blocks_become_blocks_and_transactions(folder: str) -> None:
    group = groups()[folder]

    load(ROOT / folder, allow_gap=True)

    assert stored(
        "record_file",
        "index, name, version, hash, prev_hash, file_hash, count, size, round_start, round_end, "
        "sidecar_count, consensus_end",
    ) == [
        (
            *(
                fact["number"],
                parse(fact["name"]).name,
                7,
                fact["hash"],
                fact["prev_hash"],
                "",
                fact["count"],
            ),
            *(fact["size"], fact["round_start"], fact["round_end"], 0),
            fact["consensus_end"] or fact["block_timestamp"],
        )
        for fact in group
    ]
    assert len(stored("transaction", "consensus_timestamp")) == sum(fact["count"] for fact in group)
    created = {
        kind: sum(fact["transaction_types"].get(kind, 0) for fact in group)
        for kind in ("cryptoCreateAccount", "fileCreate", "nodeCreate")
    }
    made = "created_timestamp is not null and type ="
    assert len(stored("entity", "id", f"{made} 'ACCOUNT'")) == created["cryptoCreateAccount"]
    assert len(stored("entity", "id", f"{made} 'FILE'")) == created["fileCreate"]
    assert len(stored("node", "node_id", "created_timestamp is not null")) == created["nodeCreate"]


@needs_fixtures
@pytest.mark.parametrize("fact", facts("wrapped_blocks"))
def test_a_wrapped_block_gives_the_rows_of_the_file_it_wraps(fact: dict[str, Any]) -> None:
    path = ROOT / fact["name"]
    file_hash = block_file(path).record_file().file_hash
    alone = [
        file
        for (record,) in (each.values for each in facts("records"))
        if record["file_hash"] == file_hash
        for file in (ROOT / record["group"]).rglob(record["name"])
    ]
    if not alone:
        pytest.skip("the record file of this block is not kept apart")

    with settings(importer__parser__record__sidecar__enabled=True, importer__startBlockNumber=fact["number"]):
        load(path)
        from_block = contents()
        wrapped = stored("record_file", "index, name, consensus_end")
        empty_tables()
        load(alone[0])

    (index, name, consensus_end) = wrapped[0]
    assert stored("record_file", "index, name, consensus_end") == [(index, alone[0].name, consensus_end)]
    assert name == alone[0].name.removesuffix(".gz")
    from_file = contents()
    # The container differs, so do names and lengths as stored.
    for table in ("record_file", "sidecar_file"):
        assert len(from_block.pop(table, [])) == len(from_file.pop(table, []))
    assert from_block == from_file
