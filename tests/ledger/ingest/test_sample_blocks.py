"""Blocks of the numbers that the network's developers test with and that are not among the recorded ones."""

from pathlib import Path

import pytest

from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream import block_names
from ledger.stream.ledger_identity import FIRST_LEDGER
from ledger.stream.record_formats import read_record_file
from ledger.stream.source.local import find_record_files
from ledger.stream.source.stream_blocks import local_block
from mirror.core.values.hapi.messages import LedgerIdPublicationTransactionBody
from tests.composing import Composer
from tests.ledger.ingest.load import stored
from tests.ledger.stream.block.blocks import BlockFile, BlockStream
from tests.ledger.stream.block.ledgers import LEDGER, publication
from tests.ledger.stream.block.state_proofs import proved_by_later
from tests.ledger.stream.block.wrapped import NAME, contents, transactions, wrap, written
from tests.signing import signing_nodes

pytestmark = pytest.mark.usefixtures("ledger_tables")

NODES = signing_nodes(3)
OF_FORMAT_5 = 26_591_040


def put(block: BlockFile, folder: Path) -> Path:
    path = folder / "mainnet" / block_names.in_bucket(block.number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(block.data)
    return path


def test_block_16_is_proved_by_the_signature_of_a_later_one(tmp_path, settings_of):
    named = tmp_path / "ledger"
    named.write_bytes(LedgerIdPublicationTransactionBody(**publication(LEDGER.identity)).SerializeToString())
    settings_of({FIRST_LEDGER: str(named)})
    stream = BlockStream(first_block=16)
    stream.happen("nodeUpdate")
    block, *later = (stream.block() for _ in range(3))
    put(proved_by_later(block, later, LEDGER), tmp_path / "stream")
    quorums = Quorums(Composer(nodes=NODES).address_book())

    done = Pipeline(LoadOptions(quorums=quorums)).run(find_record_files([tmp_path / "stream"]))

    assert done.verified == 1
    assert stored("record_file", "index, version, hash, name") == [
        (16, 7, block.hash.hex(), "0000000000000000016.blk.zstd")
    ]


def test_a_wrapped_record_file_of_format_5_has_the_hashes_of_the_file(tmp_path):
    given = transactions()
    alone = read_record_file(NAME, written(5, given))
    signatures = [
        {"node_id": node.node_id, "signatures_bytes": node.sign(bytes.fromhex(alone.file_hash))}
        for node in NODES
    ]
    block = wrap(5, contents(5, given, number=OF_FORMAT_5), number=OF_FORMAT_5, signatures=signatures)
    path = put(block, tmp_path)
    assert path.as_posix().endswith("mainnet/block/0000/0000/0002/6591/040.blk.zstd")

    done = Pipeline(LoadOptions(quorums=Quorums(Composer(nodes=NODES).address_book()))).run(
        find_record_files([tmp_path])
    )

    assert done.signed_by == {0, 1, 2}
    columns = "index, version, name, hash, prev_hash, file_hash, count, wrapped_record_block_hash"
    assert stored("record_file", columns) == [
        (OF_FORMAT_5, 5, NAME, alone.hash, alone.previous_hash, alone.file_hash, 3, block.hash)
    ]
    assert local_block(path).record_file().metadata_hash == alone.metadata_hash
