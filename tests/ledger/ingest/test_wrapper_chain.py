"""The chain of blocks around record files, and from it to the first block of a network."""

from pathlib import Path

import pytest

from ledger.ingest import IngestError
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.trusted_nodes import Quorums
from ledger.ingest.verification import Finding, Verification
from ledger.stream.ledger_identity import FIRST_LEDGER
from ledger.stream.source.local import find_record_files
from ledger.stream.source.stream_blocks import local_block
from mirror.core.values.hapi.messages import LedgerIdPublicationTransactionBody
from mirror.demo.streams.threshold_signer import ThresholdSigner
from tests.composing import Composer
from tests.ledger.ingest.load import stored
from tests.ledger.stream.block.blocks import BlockFile, BlockStream
from tests.ledger.stream.block.ledgers import LEDGER, publication
from tests.ledger.stream.block.test_wrapped_signed import proved_by
from tests.ledger.stream.block.wrapped import contents, transactions, wrap
from tests.signing import signing_nodes

pytestmark = pytest.mark.usefixtures("ledger_tables")

CHAIN = "index, version, prev_hash, wrapped_record_block_hash, previous_wrapped_record_block_hash"


def load(folder: Path) -> Progress:
    return Pipeline().run(find_record_files([folder]))


def wrapped(folder: Path, previous: bytes = b"p" * 48) -> tuple[BlockFile, str]:
    """Write a wrapped block of format 2; return it, and the hash of the record file in it."""
    block = wrap(2, contents(2, transactions()), previous=previous)
    return block, local_block(block.write(folder)).record_file().hash


def first_block(previous: bytes, signer: ThresholdSigner | None = None) -> BlockFile:
    stream = BlockStream(first_block=6, signer=signer)
    stream.hash = previous
    stream.happen("cryptoTransfer")
    return stream.block()


def test_the_first_block_follows_the_block_around_the_last_record_file(tmp_path):
    last, file_hash = wrapped(tmp_path)
    load(tmp_path)
    block = first_block(last.hash)
    block.write(tmp_path)

    load(tmp_path)

    assert stored("record_file", CHAIN) == [
        (5, 2, (bytes(range(48))).hex(), last.hash, b"p" * 48),
        (6, 7, file_hash, None, last.hash),
    ]


def test_the_first_block_of_another_chain_is_refused_also_by_a_loader_started_again(tmp_path):
    wrapped(tmp_path)
    load(tmp_path)
    first_block(b"o" * 48).write(tmp_path)

    with pytest.raises(IngestError, match="its previous hash 6f6f"):
        load(tmp_path)

    assert stored("record_file", "index") == [(5,)]
    Pipeline(LoadOptions(allow_gap=True)).run(find_record_files([tmp_path]))
    assert stored("record_file", "index, previous_wrapped_record_block_hash") == [
        (5, b"p" * 48),
        (6, b"o" * 48),
    ]


def test_after_a_plain_record_file_the_first_block_is_chained_to_that_file(tmp_path):
    composer = Composer(first_block=5)
    composer.crypto_transfer({2: -1, 3: 1})
    record = composer.block()
    record.write(tmp_path)
    first_block(b"w" * 48).write(tmp_path)

    load(tmp_path)

    assert stored("record_file", CHAIN)[1] == (6, 7, record.hash.hex(), None, b"w" * 48)
    found: list[Finding] = []
    Verification(quorums=None, found=found.append).run(find_record_files([tmp_path]))
    assert not found


def test_a_block_that_overlaps_the_last_record_file_in_time_still_follows_it(tmp_path):
    composer = Composer(first_block=5)
    composer.consensus_timestamp = BlockStream().consensus_timestamp + 10
    composer.crypto_transfer({2: -1, 3: 1})
    composer.block().write(tmp_path)
    stream = BlockStream(first_block=6)
    for _ in range(2):
        stream.happen("cryptoTransfer")
    stream.block().write(tmp_path)

    load(tmp_path)

    assert stored("record_file", "index, count") == [(5, 1), (6, 2)]
    assert len(stored("transaction", "consensus_timestamp")) == 3


def test_a_threshold_signature_makes_the_chain_of_wrapped_blocks_strict(tmp_path, settings_of):
    named = tmp_path / "ledger"
    body = LedgerIdPublicationTransactionBody(**publication(LEDGER.identity))
    named.write_bytes(body.SerializeToString())
    settings_of({FIRST_LEDGER: str(named)})
    folder = tmp_path / "stream"
    composer = Composer()
    file = contents(2, transactions(1, composer))
    first = proved_by(wrap(2, file), "ledger")
    end = local_block(first.write(folder)).record_file().hash
    composer.consensus_timestamp += 10**9
    following = contents(2, transactions(1, composer), number=6, previous_hash=bytes.fromhex(end))
    begins_alike = first.hash[:40] + b"o" * 8
    strange = proved_by(wrap(2, following, number=6, previous=begins_alike), "ledger")
    strange.write(folder)
    quorums = Quorums(Composer(nodes=signing_nodes(1)).address_book())

    with pytest.raises(IngestError, match=r"wrapped in follows …\w{16}…, not …\w{16}…, the"):
        Pipeline(LoadOptions(quorums=quorums)).run(find_record_files([folder]))

    proved_by(wrap(2, following, number=6, previous=first.hash), "ledger").write(folder)
    assert Pipeline(LoadOptions(quorums=quorums)).run(find_record_files([folder])).verified == 1
    assert stored("record_file", "index") == [(5,), (6,)]
