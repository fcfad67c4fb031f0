"""Record files of the past, as far as nodes' folders still have them."""

from pathlib import Path

import pytest

from ledger.archive.published_files import FileNotPublished, NodeFolders
from ledger.stream.errors import StreamFileError
from ledger.stream.record_names import signature_name
from ledger.stream.source.bucket import Access, open_bucket
from ledger.stream.source.download import Layout as Folders
from mirror.core.values.hapi.messages import ContractBytecode, TransactionSidecarRecord
from mirror.demo.streams.record_files import Block
from tests.composing import Composer, Layout
from tests.signing import signing_nodes

ACCOUNTS = {node: node + 3 for node in range(4)}
NOWHERE = "2022-07-13T08_46_11.304284003Z.rcd.gz"


@pytest.fixture
def files(tmp_path: Path) -> NodeFolders:
    return NodeFolders(open_bucket(str(tmp_path), Access()), Folders(network="demo"))


def publish(folder: Path, layout: Layout) -> Block:
    composer = Composer(nodes=signing_nodes(4))
    sidecar = TransactionSidecarRecord(bytecode=ContractBytecode(runtime_bytecode=b"\x60"))
    composer.crypto_transfer({1001: -7, 1002: 7}, payer=1001, sidecars=[sidecar])
    block = composer.block()
    block.write(folder, layout.folder)
    return block


def only(folder: Path, name: str) -> Path:
    """Leave one node's copy of a file, and return its path."""
    first, *others = sorted(folder.rglob(name))
    for path in others:
        path.unlink()
    return first


@pytest.mark.parametrize("layout", [Layout.ACCOUNT_ID, Layout.NODE_ID])
def test_a_file_comes_from_whichever_node_still_has_it(files, tmp_path, layout):
    block = publish(tmp_path, layout)
    record, sidecar = only(tmp_path, block.name), only(tmp_path, "*_01.rcd.gz")

    assert files.first(block.name, ACCOUNTS, bytes) == record.read_bytes()
    assert files.first(f"sidecar/{sidecar.name}", ACCOUNTS, bytes) == sidecar.read_bytes()


def test_signature_files_are_those_of_the_nodes_that_have_one(files, tmp_path):
    block = publish(tmp_path, Layout.ACCOUNT_ID)
    name = signature_name(block.name)
    (tmp_path / "recordstreams" / "record0.0.4" / name).unlink()

    found = files.signature_files(block.name, ACCOUNTS)

    assert sorted(found) == [0, 2, 3]
    assert found[2] == (tmp_path / "recordstreams" / "record0.0.5" / name).read_bytes()
    assert files.signature_files(NOWHERE, ACCOUNTS) == {}


def test_what_no_node_has_is_named_with_the_place(files, tmp_path):
    with pytest.raises(
        FileNotPublished, match=f"{NOWHERE}.*no node has it in the folder {tmp_path} any more"
    ):
        files.first(NOWHERE, ACCOUNTS, bytes)


def test_a_copy_that_is_refused_is_passed_over(files, tmp_path):
    block = publish(tmp_path, Layout.ACCOUNT_ID)
    first = sorted(tmp_path.rglob(block.name))[0]
    intact = first.read_bytes()
    first.write_bytes(b"something else")

    def read(data: bytes) -> bytes:
        if data != intact:
            raise StreamFileError(block.name, 0, "refused")
        return data

    assert files.first(block.name, ACCOUNTS, read) == intact
    with pytest.raises(StreamFileError, match="refused"):
        files.first(block.name, {0: 3}, read)
