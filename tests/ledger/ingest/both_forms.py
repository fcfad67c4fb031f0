"""One history in both forms, record files and blocks: what the tables hold after a load of each."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connection

from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.source.local import find_record_files
from mirror.core.values.hapi.messages import ContractFunctionResult
from mirror.demo.publish.history import BlockWriter, History
from mirror.demo.streams.keys import first_book, nodes
from mirror.demo.streams.record_files import Block

# What is stored only if an operator wants it.
EVERYTHING = {
    f"importer.parser.record.entity.persist.{name}": True
    for name in (
        *("claims", "entityNftTransactions", "entityTransactions", "itemizedTransfers"),
        *("syntheticContractResults", "transactionBytes", "transactionRecordBytes"),
    )
}
_LEDGER_APPS = ("ledger", "contracts", "tokens", "network")

# A block by nature says these otherwise, or doesn't say them.
OTHERWISE: Mapping[str, Mapping[str, str]] = {
    "record_file": {
        "load_start": "a time of the load",
        "load_end": "a time of the load",
        "name": "its number, in place of its time",
        "version": "7",
        "hash": "its root hash",
        "prev_hash": "the root hash of the block before",
        "file_hash": "it has no other hash than its root hash",
        "wrapped_record_block_hash": "the first real block names that of the last record file",
        "previous_wrapped_record_block_hash": "the first real block names that of the last record file",
        "size": "another form has another size",
        "round_start": "record files don't tell rounds",
        "round_end": "record files don't tell rounds",
        "software_version_major": "record files don't tell the software",
        "software_version_minor": "record files don't tell the software",
        "software_version_patch": "record files don't tell the software",
        "sidecar_count": "sidecars are made from what is in the block itself",
    },
    "account_balance_file": {"load_start": "a time of the load", "load_end": "a time of the load"},
    "transaction": {
        "congestion_pricing_multiplier": "record files don't tell it",
        "transaction_record_bytes": "it holds no record, but what makes one",
    },
    "sidecar_file": {"*": "sidecars are made from what is in the block itself"},
    "contract_state": {"modified_timestamp": "a write of the value that was read is only a read"},
}

Row = dict[str, Any]
Tables = Mapping[str, Sequence[Row]]


@dataclass
class Difference:
    """How a table differs: rows that only one form has, the columns of the others, an example of each."""

    table: str
    missing: int = 0
    added: int = 0
    columns: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def __str__(self) -> str:
        told = [f"{self.table}: {self.missing} rows missing, {self.added} added"]
        for column, count in self.columns.items():
            told.append(f"    {column} in {count} rows, such as {str(self.examples[column])[:2000]}")
        return "\n".join(told)


def play(blocks: int, tps: float, seed: int) -> list[Block]:
    """Return a simulated history that begins with the ledger's publication."""
    return [block for _, block in History(blocks, tps, seed, blocks_from=0).play(nodes())]


def load(history: Iterable[Block], folder: Path, *, blocks_from: int, signed: bool = True) -> Progress:
    """Write a history into a folder, as record files up to a block and as blocks from it on, and load it."""
    writer = BlockWriter(folder, "demo", blocks_from=blocks_from)
    for block in history:
        writer.write(block)
    quorums = Quorums(first_book()) if signed else None
    return Pipeline(LoadOptions(quorums=quorums)).run(find_record_files([folder]))


def stored_tables() -> Tables:
    """Return the rows of all tables of the ledger."""
    found: dict[str, Sequence[Row]] = {}
    with connection.cursor() as cursor:
        for table in sorted(m._meta.db_table for m in apps.get_models() if m._meta.app_label in _LEDGER_APPS):
            cursor.execute(f"select to_jsonb(t)::text from {table} t")
            found[table] = [json.loads(row) for (row,) in cursor.fetchall()]
    for result in found["contract_result"]:
        if result["function_result"]:
            result["function_result"] = _without_empty_bloom(result["function_result"])
    for change in found["contract_state_change"]:
        # In a block, most writes of the value that was read are only reads.
        if change["value_written"] == change["value_read"] != "\\x":
            change["value_written"] = None
    return found


def _without_empty_bloom(function_result: str) -> str:
    """Networks write the bloom of a result without logs in two ways: 256 zero bytes, or none."""
    message = ContractFunctionResult.FromString(bytes.fromhex(function_result.removeprefix("\\x")))
    if not any(message.bloom):
        message.ClearField("bloom")
    serialized: bytes = message.SerializeToString(deterministic=True)
    return serialized.hex()


def differences(records: Tables, blocks: Tables) -> list[Difference]:
    """Return how tables of blocks differ from those of record files, but for what is said otherwise."""
    found = []
    for table, expected in records.items():
        otherwise = OTHERWISE.get(table, {})
        if "*" in otherwise:
            continue
        difference = _difference(table, expected, blocks[table], otherwise)
        if difference.missing or difference.added or difference.columns:
            found.append(difference)
    return found


def _difference(
    table: str, expected: Sequence[Row], found: Sequence[Row], otherwise: Mapping[str, str]
) -> Difference:
    difference = Difference(table)
    of_records, of_blocks = (_by_content(rows, otherwise) for rows in (expected, found))
    for content in of_records.keys() & of_blocks.keys():
        both = min(len(of_records[content]), len(of_blocks[content]))
        del of_records[content][:both], of_blocks[content][:both]
    left = [[row for rows in form.values() for row in rows] for form in (of_records, of_blocks)]
    keys = _key(table)
    by_key: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(left[1], key=str):
        by_key.setdefault(tuple(str(row[key]) for key in keys), []).append(row)
    for row in sorted(left[0], key=str):
        twins = by_key.get(tuple(str(row[key]) for key in keys))
        if not twins:
            difference.missing += 1
            difference.examples.setdefault("", (row, None))
            continue
        twin = twins.pop(0)
        for column, value in row.items():
            if column not in otherwise and twin[column] != value:
                difference.columns[column] += 1
                difference.examples.setdefault(column, (value, twin[column]))
    difference.added = sum(map(len, by_key.values()))
    return difference


def _by_content(rows: Sequence[Row], otherwise: Mapping[str, str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        content = str(sorted((name, value) for name, value in row.items() if name not in otherwise))
        found.setdefault(content, []).append(row)
    return found


def _key(table: str) -> list[str]:
    """Return the columns of a table's primary key, or of what is most like one."""
    model = next(m for m in apps.get_models() if m._meta.db_table == table)
    with connection.cursor() as cursor:
        cursor.execute(
            "select a.attname from pg_index i join pg_attribute a "
            "on a.attrelid = i.indrelid and a.attnum = any(i.indkey) "
            "where i.indrelid = %s::regclass and i.indisprimary",
            [table],
        )
        keys = [name for (name,) in cursor.fetchall()]
    names = {f.column for f in model._meta.get_fields() if hasattr(f, "column")}
    return keys or sorted(names & {"consensus_timestamp", "timestamp_range", "id", "index"})
