"""Files that networks have published are proved, and the proofs hold."""

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.portable_proofs.record_file_proof import verify
from ledger.portable_proofs.verdict import Expected, Trusted
from ledger.stream.record_formats import read_record_file
from mirror.core.values import timestamp, transaction_id
from tests.api import Api
from tests.build import Build, insert
from tests.conformance.test_conformance import CONFORMANCE

FOLDER = CONFORMANCE / "rest/fixtures"
STREAMS = FOLDER / "stream-files"
OF_NODE = STREAMS / "recordstreams/record0.0.3"

pytestmark = pytest.mark.skipif(not STREAMS.is_dir(), reason=f"no published files in {STREAMS}")


@pytest.fixture
def book(build: Build) -> bytes:
    """Load an address book of that network; return it as it was published."""
    rows = json.loads((FOLDER / "stateproof-rows-2006ffa4.json").read_text())
    first = min(rows["address_book"], key=lambda row: row["start_consensus_timestamp"])
    content = bytes.fromhex(first["file_data"].removeprefix("\\x"))
    insert("address_book", **first | {"file_data": content})
    for entry in rows["address_book_entry"]:
        if entry["consensus_timestamp"] == first["start_consensus_timestamp"]:
            insert("address_book_entry", **{name: entry[name] for name in entry if name != "node_cert_hash"})
    return content


@pytest.mark.parametrize(
    "name",
    [
        "2019-10-11T13_35_45.120768Z.rcd",
        "2021-03-05T05_23_02.071338000Z.rcd",
        "2022-07-26T02_36_36.804825645Z.rcd.gz",
    ],
    ids=["format 2", "format 5", "format 6"],
)
def test_each_transaction_of_a_published_file_is_proved(
    api: Api, build: Build, book: bytes, settings_of: Any, tmp_path: Path, name: str
) -> None:
    (tmp_path / "streams").symlink_to(STREAMS)
    settings_of(
        {
            "rest.stateproof.enabled": True,
            "importer.downloader.cloudProvider": "LOCAL",
            "importer.dataPath": str(tmp_path),
            "importer.archive.location": str(tmp_path / "kept"),
        }
    )
    record = read_record_file(name, (OF_NODE / name).read_bytes())
    build.block(7, end=record.consensus_end, name=name, version=record.version)
    for item in record.items:
        at, payer, valid_start = item.consensus_timestamp, item.payer_account_id, item.valid_start_ns
        assert isinstance(payer, int)
        build.transaction(
            at,
            payer=payer,
            transfers=(),
            valid_start_ns=valid_start,
            nonce=item.nonce,
            scheduled=item.scheduled,
            result=item.result,
        )
        if not item.successful:
            continue
        query = f"nonce={item.nonce}&scheduled={str(item.scheduled).lower()}"
        named = transaction_id.text(payer, valid_start)
        answer = api.get(f"/api/v1/transactions/{named}/stateproof?{query}")
        assert answer.status == 200, answer
        verdict = verify(answer.json(), Trusted(book=book), Expected(timestamp.text(at)))
        assert (verdict.transaction.consensus_timestamp, verdict.signed) == (at, 4)
