"""Real files of public networks, loaded: what the tables then say equals what is known of the files.

The files and their facts lie outside the project (MIRROR_FIXTURES, else ../shared/fixtures).
"""

import json
from typing import Any

import pytest
from django.db import connection

from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.stream.source.local import find_record_files
from tests.ledger.ingest import load
from tests.ledger.stream.fixtures import PRESENT, ROOT, needs_fixtures

pytestmark = [pytest.mark.django_db(transaction=True), needs_fixtures]


def groups() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    if PRESENT:
        for record in json.loads((ROOT / "facts.json").read_text())["records"]:
            found.setdefault(record["group"], []).append(record)
    return found


GROUPS = groups()


@pytest.mark.parametrize("group", GROUPS)
def test_every_record_file_is_loaded_with_its_known_hashes_and_counts(group: str) -> None:
    expected = sorted(GROUPS[group], key=lambda record: int(record["consensus_start"]))

    # Some groups are single files of a longer stream.
    # The blooms that are known are those of the nodes alone.
    with load.settings(persist__syntheticContractLogs=False):
        Pipeline(LoadOptions(allow_gap=True)).run(find_record_files([ROOT / group]))

    with connection.cursor() as cursor:
        cursor.execute(
            """
            select name, version, size, count, consensus_start, consensus_end, prev_hash, hash, file_hash,
                hapi_version_major, hapi_version_minor, hapi_version_patch,
                gas_used, encode(logs_bloom, 'hex') as logs_bloom, sidecar_count, index,
                (select count(*) from transaction t where t.consensus_timestamp
                    between f.consensus_start and f.consensus_end) as transactions,
                (select count(*) from crypto_transfer t where t.consensus_timestamp
                    between f.consensus_start and f.consensus_end) as crypto_transfers
            from record_file f order by consensus_start
            """
        )
        names = [column.name for column in cursor.description or ()]
        loaded = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        cursor.execute("select name, encode(hash, 'hex'), count, size, types from sidecar_file order by name")
        sidecars = cursor.fetchall()

    assert [file["name"] for file in loaded] == [record["name"] for record in expected]
    for file, record in zip(loaded, expected, strict=True):
        for fact in ("version", "size", "count", "consensus_start", "consensus_end", "prev_hash", "hash"):
            assert file[fact] == record[fact], (record["name"], fact)
        assert file["file_hash"] == record["file_hash"]
        assert file["transactions"] == record["count"]
        assert file["crypto_transfers"] == record["record_crypto_transfers"]
        assert file["gas_used"] == record["gas_used"]
        assert file["logs_bloom"] == record["logs_bloom"]
        assert file["sidecar_count"] == len(record["sidecars"])
        if record.get("block_number") is not None:
            assert file["index"] == record["block_number"]
        if record["version"] >= 5:
            assert [file[f"hapi_version_{part}"] for part in ("major", "minor", "patch")] == record["hapi"]
    assert [row[0] for row in sidecars] == sorted(s["name"] for r in expected for s in r["sidecars"])
    numbers = [file["index"] for file in loaded]
    if all(a["hash"] == b["prev_hash"] for a, b in zip(expected, expected[1:], strict=False)):
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
