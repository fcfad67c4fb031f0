"""By which ledger id blocks are verified, and who says so."""

from pathlib import Path

import pytest

from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream import ledger_identity
from ledger.stream.ledger_identity import FIRST_LEDGER
from ledger.stream.source.local import find_record_files
from mirror.node.health.inventory import ledger_id_sentence
from tests.composing import Composer
from tests.ledger.stream.block.blocks import BlockStream
from tests.ledger.stream.block.ledgers import LEDGER, OTHERS, publication
from tests.signing import signing_nodes

pytestmark = pytest.mark.usefixtures("ledger_tables")

ID = LEDGER.identity.ledger_id.hex()
BOOK = Composer(nodes=signing_nodes(1)).address_book()


@pytest.fixture
def published(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.bin"
    path.write_bytes(ledger_identity.publication(LEDGER.identity))
    return path


def load_published_in(folder: Path, number: int) -> None:
    stream = BlockStream(first_block=number, signer=LEDGER)
    stream.happen("ledger_id_publication", publication(LEDGER.identity))
    stream.block().write(folder)
    Pipeline(LoadOptions(quorums=Quorums(BOOK))).run(find_record_files([folder]))


def test_while_no_ledger_is_known_nothing_is_said():
    assert ledger_id_sentence() == ""


def test_id_of_block_0_alone_is_to_be_compared(tmp_path):
    load_published_in(tmp_path / "blocks", 0)

    assert ledger_id_sentence() == (
        f"{ID}, by the word of block 0 alone: compare it with what the network says of itself, and name it "
        f"by {FIRST_LEDGER}"
    )


def test_id_that_the_operator_names_is_said_to_be_named(tmp_path, published, settings_of):
    settings_of({FIRST_LEDGER: str(published)})
    assert ledger_id_sentence() == f"{ID} by {FIRST_LEDGER}: what is loaded publishes none"

    load_published_in(tmp_path / "blocks", 0)

    assert ledger_id_sentence() == f"{ID}, as {FIRST_LEDGER} says"


def test_id_of_a_later_block_is_said_with_its_block(tmp_path, published, settings_of):
    settings_of({FIRST_LEDGER: str(published)})
    load_published_in(tmp_path / "blocks", 7)
    settings_of({FIRST_LEDGER: ""})

    assert ledger_id_sentence() == f"{ID}, published in block 7"


def test_other_id_than_the_configured_one_is_another_network(tmp_path, published, settings_of):
    load_published_in(tmp_path / "blocks", 0)
    published.write_bytes(ledger_identity.publication(OTHERS.identity))
    settings_of({FIRST_LEDGER: str(published)})

    other = OTHERS.identity.ledger_id.hex()
    assert ledger_id_sentence() == f"{ID}, but {FIRST_LEDGER} names {other}, which is another network"


def test_same_id_with_other_keys_is_not_confirmed(tmp_path, published, settings_of):
    load_published_in(tmp_path / "blocks", 0)
    others = LEDGER.identity._replace(contributors=OTHERS.identity.contributors)
    published.write_bytes(ledger_identity.publication(others))
    settings_of({FIRST_LEDGER: str(published)})

    assert ledger_id_sentence() == f"{ID}, but {FIRST_LEDGER} names other nodes or keys of it"


def test_named_file_that_cannot_be_read_is_said(tmp_path, settings_of):
    settings_of({FIRST_LEDGER: str(tmp_path / "nowhere")})

    assert "can't be read: No such file or directory." in ledger_id_sentence()
