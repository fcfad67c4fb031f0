"""Proofs of transactions in record files that have come in blocks, with the signatures in these blocks."""

from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from ledger.portable_proofs.record_file_proof import verify
from ledger.portable_proofs.verdict import Expected, Trusted
from ledger.stream import record_names
from ledger.stream.block.block_file import read_block_file
from ledger.stream.record_file import RecordFile
from mirror.core.values import timestamp
from mirror.core.values.hashes import sha384
from mirror.demo.streams.keys import nodes
from mirror.demo.streams.signing import SigningNode
from tests.api import Answer, Api
from tests.build import Build
from tests.ledger.state_proofs.files import BOOK, PAYER, load_book, published
from tests.ledger.stream.block.blocks import BlockFile
from tests.ledger.stream.block.wrapped import contents, item, transactions, wrap

VERSIONS = [2, 5, 6]
COMPOSED = transactions()
PROVED = COMPOSED[1]


def wrapped(version: int, signers: tuple[SigningNode, ...] = nodes(), **more: Any) -> BlockFile:
    """A block around a record file of a format, which these nodes have signed."""
    given = contents(min(version, 5), COMPOSED)
    unsigned = wrap(version, given, **more)
    file_hash = bytes.fromhex(read_block_file(unsigned.name, unsigned.data).file_hash)
    signatures = [{"node_id": node.node_id, "signatures_bytes": node.sign(file_hash)} for node in signers]
    return wrap(version, given, signatures=signatures, **more)


def load(build: Build, block: BlockFile) -> RecordFile:
    """Insert the rows of loading the block, with its bytes."""
    file = read_block_file(block.name, block.data)
    assert file.wrapper is not None
    for added in COMPOSED:
        start = timestamp.to_ns(added.body.transactionID.transactionValidStart)
        build.transaction(added.consensus_timestamp, payer=PAYER, transfers=(), valid_start_ns=start)
    build.block(
        block.number,
        end=file.consensus_end,
        consensus_start=file.consensus_start,
        name=file.name,
        version=file.version,
        hash=file.hash,
        wrapped_record_block_hash=bytes.fromhex(file.wrapper.hash),
        bytes=block.data,
    )
    load_book(1)
    return file


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings_of: Any) -> Path:
    """Switch state proofs on; return the folder where nodes publish record files."""
    settings_of(
        {
            "rest.stateproof.enabled": True,
            "importer.downloader.cloudProvider": "LOCAL",
            "importer.dataPath": str(tmp_path),
            "importer.archive.location": str(tmp_path / "kept"),
        }
    )
    (tmp_path / "streams").mkdir()
    return tmp_path / "streams"


def ask(api: Api) -> Answer:
    seconds, nanos = divmod(timestamp.to_ns(PROVED.body.transactionID.transactionValidStart), 10**9)
    return api.get(f"/api/v1/transactions/0.0.{PAYER}-{seconds}-{nanos}/stateproof")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_file_is_whole_and_its_signatures_are_those_in_the_block(
    api: Api, build: Build, version: int
) -> None:
    file = load(build, wrapped(version))

    answer = ask(api)

    assert answer.status == 200, answer
    proof = answer.json()
    assert (proof["version"], len(proof["signature_files"])) == (version, 4)
    content = b64decode(proof["record_file"])
    assert version == 2 or sha384(content).hex() == file.file_hash
    at = timestamp.text(PROVED.consensus_timestamp)
    verdict = verify(proof, Trusted(book=BOOK), Expected(at))
    assert (verdict.transaction.consensus_timestamp, verdict.signed) == (PROVED.consensus_timestamp, 4)


@pytest.mark.parametrize(
    "block",
    [
        wrapped(6, nodes()[:1]),
        wrapped(6, amendments=[item(COMPOSED[0])]),
    ],
    ids=["signed by too few", "amended"],
)
def test_a_block_that_proves_nothing_leaves_the_files_that_nodes_publish(
    api: Api, build: Build, folder: Path, block: BlockFile
) -> None:
    load(build, block)
    alone = published(6, start=COMPOSED[0].consensus_timestamp)
    message = "Require at least 1/3 signature files to prove consensus, got 0 out of 4 for file"
    assert ask(api).messages == [f"{message} {record_names.signature_name(alone.name)}"]

    alone.write(folder)
    assert ask(api).status == 200
