"""From native blocks to tables: only what the ledger's nodes have signed together."""

from pathlib import Path
from typing import Any

import pytest

from ledger.ingest import IngestError
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import KNOWN_NETWORKS, Quorums
from ledger.ingest.verification import Finding, Verification
from ledger.stream import ledger_identity
from ledger.stream.errors import NoTrustedSigners, StreamFileError
from ledger.stream.ledger_identity import FIRST_LEDGER
from ledger.stream.signature.quorum import NoAddressBook
from ledger.stream.source.local import find_record_files
from mirror.core.config.setting import OperatorError
from mirror.core.values.hapi.messages import LedgerIdPublicationTransactionBody
from mirror.demo.streams.threshold_signer import ThresholdSigner
from mirror.models import LoadedRange
from network import bundled
from network.models import Ledger
from tests.composing import Composer
from tests.ledger.stream.block.blocks import BlockStream
from tests.ledger.stream.block.ledgers import LEDGER, OTHERS, publication
from tests.ledger.stream.block.wrapped import contents, transactions, wrap
from tests.signing import signing_nodes

pytestmark = pytest.mark.usefixtures("ledger_tables")

BOOK = Composer(nodes=signing_nodes(1)).address_book()


def transfer(stream: BlockStream) -> None:
    stream.happen("cryptoTransfer")


def load(folder: Path) -> Any:
    return Pipeline(LoadOptions(quorums=Quorums(BOOK))).run(find_record_files([folder]))


def test_the_first_block_publishes_the_ledger_that_signs_it_and_all_after_it(tmp_path):
    stream = BlockStream(signer=LEDGER)
    stream.happen("ledger_id_publication", publication(LEDGER.identity))
    stream.block().write(tmp_path)
    for _ in range(2):
        transfer(stream)
        stream.block().write(tmp_path)

    done = load(tmp_path)

    assert (done.files, done.verified) == (3, 3)
    assert bytes(Ledger.objects.get().ledger_id) == LEDGER.identity.ledger_id
    assert LoadedRange.objects.get().signed is True


def test_trust_on_first_use_is_logged_once(tmp_path, caplog):
    signer = ThresholdSigner({0: 10}, "a network that nobody knows")
    stream = BlockStream(signer=signer)
    stream.happen("ledger_id_publication", publication(signer.identity))
    stream.block().write(tmp_path)

    load(tmp_path)

    warnings = [
        each.getMessage() for each in caplog.records if "ledger_trusted_on_first_use" in each.getMessage()
    ]
    assert len(warnings) == 1
    assert signer.identity.ledger_id.hex() in warnings[0]


@pytest.mark.parametrize("network", ["mainnet", "testnet", "previewnet"])
def test_known_networks_have_no_trust_on_first_use(tmp_path, settings_of, network):
    stream = BlockStream(signer=LEDGER)
    stream.happen("ledger_id_publication", publication(LEDGER.identity))
    stream.block().write(tmp_path / "stream")
    named = tmp_path / "ledger"
    named.write_bytes(ledger_identity.publication(LEDGER.identity))
    settings_of({"network": network})

    with pytest.raises(NoTrustedSigners) as refused:
        load(tmp_path / "stream")

    assert f"no ledger id of the network {network} is known" in refused.value.cause
    assert LEDGER.identity.ledger_id.hex() in refused.value.cause
    assert FIRST_LEDGER in refused.value.cure
    assert not LoadedRange.objects.exists()
    settings_of({FIRST_LEDGER: str(named)})
    assert load(tmp_path / "stream").verified == 1


def test_the_known_networks_are_those_whose_address_books_come_with_the_program():
    books = {path.stem for path in bundled.FOLDER.glob("*.bin") if "-" not in path.stem}

    assert books - {bundled.DEMO, bundled.SIMULATED} == KNOWN_NETWORKS


def test_native_blocks_need_no_address_book(tmp_path, settings_of):
    settings_of({"network": "other"})
    stream = BlockStream(signer=LEDGER)
    stream.happen("ledger_id_publication", publication(LEDGER.identity))
    for _ in range(3):
        transfer(stream)
        stream.block().write(tmp_path)

    done = Pipeline(LoadOptions(quorums=Quorums())).run(find_record_files([tmp_path]))

    assert (done.files, done.verified) == (3, 3)


def test_wrapped_record_files_need_an_address_book(tmp_path, settings_of):
    settings_of({"network": "other"})
    wrap(2, contents(2, transactions())).write(tmp_path)

    with pytest.raises(NoAddressBook, match="no address book of the network other is known"):
        Pipeline(LoadOptions(quorums=Quorums())).run(find_record_files([tmp_path]))


def test_a_block_of_other_nodes_is_refused_and_those_before_it_are_loaded(tmp_path):
    stream = BlockStream(signer=LEDGER)
    stream.happen("ledger_id_publication", publication(LEDGER.identity))
    stream.block().write(tmp_path)
    stream._signer = OTHERS
    transfer(stream)
    block = stream.block()
    block.write(tmp_path)

    with pytest.raises(StreamFileError, match="its threshold signature is refused") as refused:
        load(tmp_path)

    assert refused.value.file == block.name
    assert refused.value.cure.index(FIRST_LEDGER) < refused.value.cure.index("--without-signatures")
    assert LoadedRange.objects.get().last_block == 0


def test_a_later_publication_counts_for_the_blocks_after_it(tmp_path):
    stream = BlockStream(signer=LEDGER)
    stream.happen("ledger_id_publication", publication(LEDGER.identity))
    stream.block().write(tmp_path)
    stream.happen("ledger_id_publication", publication(OTHERS.identity))
    stream.block().write(tmp_path)
    stream._signer = OTHERS
    transfer(stream)
    stream.block().write(tmp_path)

    assert load(tmp_path).verified == 3


def test_without_a_ledger_id_no_block_is_verified(tmp_path):
    stream = BlockStream(first_block=7, signer=LEDGER)
    transfer(stream)
    stream.block().write(tmp_path)

    with pytest.raises(StreamFileError, match="no ledger id of the network is known"):
        load(tmp_path)

    assert not LoadedRange.objects.exists()


def test_an_operator_may_name_the_ledger(tmp_path, settings_of):
    named = tmp_path / "ledger"
    body = LedgerIdPublicationTransactionBody(**publication(LEDGER.identity))
    named.write_bytes(body.SerializeToString())
    stream = BlockStream(first_block=7, signer=LEDGER)
    transfer(stream)
    stream.block().write(tmp_path / "stream")
    settings_of({FIRST_LEDGER: str(named)})

    assert load(tmp_path / "stream").verified == 1


def test_another_ledger_than_the_one_that_is_loaded_is_refused(tmp_path, settings_of):
    stream = BlockStream(signer=LEDGER)
    stream.happen("ledger_id_publication", publication(LEDGER.identity))
    stream.block().write(tmp_path / "stream")
    load(tmp_path / "stream")
    named = tmp_path / "ledger"
    named.write_bytes(ledger_identity.publication(OTHERS.identity))
    settings_of({FIRST_LEDGER: str(named)})

    with pytest.raises(OperatorError, match="comes from the ledger " + LEDGER.identity.ledger_id.hex()):
        load(tmp_path / "stream")

    named.write_bytes(ledger_identity.publication(LEDGER.identity))
    transfer(stream)
    stream.block().write(tmp_path / "stream")
    assert load(tmp_path / "stream").files == 1


@pytest.mark.parametrize(
    ("content", "reason"), [(b"\xff\xff", "is no LedgerId"), (b"", "a ledger id of 0 bytes")]
)
def test_a_ledger_that_can_not_be_read_is_refused(tmp_path, settings_of, content, reason):
    named = tmp_path / "ledger"
    named.write_bytes(content)
    settings_of({FIRST_LEDGER: str(named)})

    with pytest.raises(OperatorError, match=reason):
        Quorums(BOOK)


def test_the_hash_of_a_hash_is_no_signature_but_may_be_loaded_without_any(tmp_path):
    stream = BlockStream()
    stream.happen("ledger_id_publication", publication(LEDGER.identity))
    stream.block().write(tmp_path)

    with pytest.raises((StreamFileError, IngestError), match="it has 48 bytes"):
        load(tmp_path)
    Pipeline().run(find_record_files([tmp_path]))

    assert LoadedRange.objects.get().signed is False


def test_a_ledger_id_of_another_length_proves_nothing(tmp_path):
    stream = BlockStream(signer=LEDGER)
    stream.happen("ledger_id_publication", publication(LEDGER.identity._replace(ledger_id=b"short")))
    stream.block().write(tmp_path)

    with pytest.raises(StreamFileError, match="the ledger's id has 5 bytes, not 32"):
        load(tmp_path)


def test_blocks_before_a_publication_is_repeated_are_still_verified(tmp_path):
    stream = BlockStream(signer=LEDGER)
    for kind in ("ledger_id_publication", "cryptoTransfer", "ledger_id_publication"):
        stream.happen(kind, publication(LEDGER.identity) if kind == "ledger_id_publication" else {})
        stream.block().write(tmp_path)
    load(tmp_path)
    found: list[Finding] = []

    checked = Verification(quorums=Quorums(BOOK), found=found.append).run(find_record_files([tmp_path]))

    assert checked.signed == 3
    assert [finding.what for finding in found] == []


def test_publication_in_a_refused_block_is_not_trusted(tmp_path):
    stream = BlockStream(signer=LEDGER)
    stream.happen("ledger_id_publication", publication(LEDGER.identity))
    stream.block().write(tmp_path)
    stream._signer = OTHERS
    stream.happen("ledger_id_publication", publication(OTHERS.identity))
    stream.block().write(tmp_path)

    with pytest.raises(StreamFileError, match="its threshold signature is refused"):
        load(tmp_path)

    assert bytes(Ledger.objects.get().ledger_id) == LEDGER.identity.ledger_id


def test_the_word_of_the_operator_counts_before_that_of_a_first_block(tmp_path, settings_of):
    named = tmp_path / "ledger"
    named.write_bytes(LedgerIdPublicationTransactionBody(**publication(LEDGER.identity)).SerializeToString())
    settings_of({FIRST_LEDGER: str(named)})
    stream = BlockStream(signer=OTHERS)
    stream.happen("ledger_id_publication", publication(OTHERS.identity))
    stream.block().write(tmp_path / "stream")

    with pytest.raises(StreamFileError, match="its threshold signature is refused") as refused:
        load(tmp_path / "stream")

    assert "its key is not signed by the nodes of the ledger" in refused.value.cause
    assert f"verified by the ledger {LEDGER.identity.ledger_id.hex()}" in refused.value.cause
    assert f"publishes the ledger {OTHERS.identity.ledger_id.hex()}" in refused.value.cause
    assert FIRST_LEDGER in refused.value.cure
    assert "--without-signatures" not in refused.value.cure
