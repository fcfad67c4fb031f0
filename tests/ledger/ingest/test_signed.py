"""From folders as nodes publish them to tables: only what a majority signed."""

import gzip
import json
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.quorum import NoAddressBook, Quorum
from ledger.stream.source.local import LocalRecordFile, find_record_files
from mirror.core.values.hapi.messages import (
    ContractBytecode,
    FileUpdateTransactionBody,
    TransactionBody,
    TransactionSidecarRecord,
)
from tests.composing import Composer, Layout
from tests.ledger.ingest.load import stored
from tests.ledger.stream.fixtures import ROOT, needs_fixtures
from tests.signing import signing_nodes

pytestmark = pytest.mark.usefixtures("ledger_tables")

NODES = signing_nodes(6)
Settings = Callable[..., None]


def load(folder: Path, book: bytes | None = None, *, allow_gap: bool = False) -> Progress:
    return Pipeline(LoadOptions(allow_gap=allow_gap, quorums=Quorums(book))).run(find_record_files([folder]))


def with_sidecar() -> Any:
    return TransactionSidecarRecord(bytecode=ContractBytecode(runtime_bytecode=b"\x60\x80"))


def publish(folder: Path, blocks: int = 3, *, nodes: int = 4, layout: Layout = Layout.ACCOUNT_ID) -> Composer:
    composer = Composer(nodes=NODES[:nodes])
    for _ in range(blocks):
        composer.crypto_transfer({2: -5, 1002: 5}, sidecars=[with_sidecar()])
        composer.block().write(folder, layout.folder)
    return composer


def of_node(folder: Path, node: int) -> Path:
    return folder / "recordstreams" / f"record0.0.{node + 3}"


def nth(folder: Path, node: int, pattern: str, index: int) -> Path:
    return sorted(of_node(folder, node).glob(pattern))[index]


def spoil(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)


def names() -> list[Any]:
    return [name for (name,) in stored("record_file", "name")]


@pytest.mark.parametrize("layout", Layout)
def test_files_a_majority_signed_are_loaded(tmp_path: Path, layout: Layout) -> None:
    composer = publish(tmp_path, layout=layout)

    done = load(tmp_path, composer.address_book())

    assert (done.files, done.verified, done.signed_by) == (3, 3, frozenset(range(4)))
    assert len(names()) == 3


def test_files_without_any_signature_are_loaded_as_before(tmp_path: Path) -> None:
    publish(tmp_path / "bucket", nodes=0)
    loose = tmp_path / "loose"
    loose.mkdir()
    for path in (tmp_path / "bucket").rglob("*.rcd.gz"):
        path.rename(loose / path.name)

    done = load(loose)

    assert (done.files, done.verified) == (3, 0)


@pytest.mark.parametrize("layout", Layout)
def test_a_bucket_layout_without_any_signature_is_refused_like_one_that_lacks_some(
    tmp_path: Path, layout: Layout
) -> None:
    composer = publish(tmp_path, layout=layout)
    for path in tmp_path.rglob("*_sig*"):
        path.unlink()

    with pytest.raises(StreamFileError, match="signed by 0 of 4 nodes; 2 needed; nodes 0, 1, 2, 3: no sign"):
        load(tmp_path, composer.address_book())

    assert names() == []
    assert Pipeline().run(find_record_files([tmp_path])).files == 3


def test_a_file_given_alone_is_loaded_without_signatures(tmp_path: Path) -> None:
    publish(tmp_path)

    done = Pipeline(LoadOptions(quorums=Quorums())).run(find_record_files([nth(tmp_path, 0, "*.rcd.gz", 0)]))

    assert (done.files, done.verified) == (1, 0)


def test_without_an_address_book_nothing_can_be_verified(tmp_path: Path) -> None:
    publish(tmp_path)

    with pytest.raises(
        NoAddressBook, match="no address book of the network demo is known.*initialAddressBook"
    ):
        load(tmp_path)


@pytest.mark.parametrize("spoiled", [1, 2])
def test_damaged_signatures_of_some_nodes_do_no_harm(tmp_path: Path, spoiled: int) -> None:
    composer = publish(tmp_path)
    for node in range(spoiled):
        spoil(nth(tmp_path, node, "*_sig", 1))

    assert load(tmp_path, composer.address_book()).files == 3


def test_the_stream_ends_before_the_first_file_too_few_signed(tmp_path: Path) -> None:
    composer = publish(tmp_path)
    for node in range(3):
        nth(tmp_path, node, "*_sig", 1).unlink()

    with pytest.raises(StreamFileError, match=r"no consensus: signed by 1 of 4 nodes \(node 3\); 2 needed"):
        load(tmp_path, composer.address_book())

    assert len(names()) == 1


def test_published_file_without_signatures_is_refused(tmp_path: Path) -> None:
    composer = publish(tmp_path)
    for node in range(4):
        nth(tmp_path, node, "*_sig", 0).unlink()

    with pytest.raises(
        StreamFileError, match="signed by 0 of 4 nodes; 2 needed; nodes 0, 1, 2, 3: no signature file"
    ):
        load(tmp_path, composer.address_book())

    assert names() == []


@pytest.mark.parametrize("pattern", ["*.rcd.gz", "sidecar/*"])
def test_an_intact_copy_is_found_with_any_node_of_the_majority(tmp_path: Path, pattern: str) -> None:
    composer = publish(tmp_path)
    spoil(nth(tmp_path, 0, pattern, 0))
    nth(tmp_path, 1, pattern, 0).unlink()

    assert load(tmp_path, composer.address_book()).files == 3


@pytest.mark.parametrize("damaged", ["first", "second"])
def test_of_two_copies_of_a_node_one_may_be_damaged(tmp_path: Path, damaged: str) -> None:
    composer = publish(tmp_path / "first")
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    for folder in (tmp_path / "first", tmp_path / "second"):
        for node in (1, 2, 3):
            nth(folder, node, "*.rcd.gz", 0).unlink()
    spoil(nth(tmp_path / damaged, 0, "*.rcd.gz", 0))

    assert load(tmp_path, composer.address_book()).files == 3


@pytest.mark.parametrize("pattern", ["*.rcd.gz", "sidecar/*"])
def test_a_copy_of_a_node_outside_the_majority_is_not_looked_at(tmp_path: Path, pattern: str) -> None:
    composer = publish(tmp_path)
    for node in (0, 1):
        spoil(nth(tmp_path, node, pattern, 1))
    for node in (2, 3):
        nth(tmp_path, node, "*_sig", 1).unlink()

    with pytest.raises(
        StreamFileError, match="none of the nodes that signed it has an intact copy; nodes 0, 1: "
    ):
        load(tmp_path, composer.address_book())

    assert len(names()) == 1


@pytest.mark.parametrize("filtered", [False, True])
def test_nodes_of_a_new_address_book_sign_from_the_next_file_on(
    tmp_path: Path, settings_of: Settings, filtered: bool
) -> None:
    settings_of({"importer.parser.include": "entity=0.0.1002" if filtered else ""})
    before, after = NODES[:3], NODES[3:]
    composer = Composer(nodes=before)
    update = FileUpdateTransactionBody(contents=Composer(nodes=after).address_book())
    update.fileID.fileNum = 102
    first_book = composer.address_book()
    composer.transaction(TransactionBody(fileUpdate=update))
    composer.block().write(tmp_path)
    composer.nodes = after
    for _ in range(2):
        composer.crypto_transfer({2: -5, 1002: 5})
        composer.block().write(tmp_path)

    done = load(tmp_path, first_book)

    assert (done.verified, done.signed_by) == (3, frozenset(range(6)))


# RECORDED FILES

GROUPS = {
    "eth-0.26": ("test-v6-4n.bin", 1),
    "hip679-auto": ("test-v6-sidecar-4n.bin", 2),
    "hip679-node-id": ("test-v6-sidecar-4n.bin", 1),
    "testnet-2019": ("testnet", 4),
    "testnet-2022": ("testnet", 4),
    "v1": ("test-v1", 4),
    "v2": ("testnet", 4),
    "v5": ("testnet", 4),
    "v5v6": ("test-v6-4n.bin", 4),
    "v6": ("test-v6-sidecar-4n.bin", 4),
}


@needs_fixtures
@pytest.mark.parametrize("group", GROUPS)
def test_recorded_streams_verify_with_their_address_book(group: str, settings_of: Settings) -> None:
    book, signers = GROUPS[group]
    settings_of({"importer.initialAddressBook": str(ROOT / "addressbook" / "test" / book)})
    facts = json.loads((ROOT / "facts.json").read_text())["records"]
    expected = sorted(fact["name"] for fact in facts if fact["group"] == f"streams/{group}")
    if signers == 1:
        with pytest.raises(StreamFileError, match="signed by 1 of [0-9]+ nodes"):
            load(ROOT / "streams" / group, allow_gap=True)
        settings_of({"importer.downloader.consensusRatio": 0})

    done = load(ROOT / "streams" / group, allow_gap=True)

    assert (done.verified, len(done.signed_by)) == (len(expected), signers)
    assert names() == expected


# DAMAGE

FLIPS = 600
_KINDS = ("*.rcd", "*.rcd.gz", "*_sig", "sidecar/*")


def copy_of_one_node(group: Path, folder: Path) -> None:
    """One node's files of a stream, so that no other copy can stand in."""
    data = next(path for path in sorted(group.rglob("*.rcd*")) if path.parent.name != "sidecar")
    shutil.copytree(data.parent, folder / "recordstreams" / "record0.0.3", copy_function=shutil.copyfile)


@needs_fixtures
def test_content_with_one_bit_flipped_is_always_refused(tmp_path: Path, settings_of: Settings) -> None:
    choose = random.Random(679)
    settings_of({"importer.downloader.consensusRatio": 0})
    groups = []
    for group, (book, _) in GROUPS.items():
        copy_of_one_node(ROOT / "streams" / group, tmp_path / group)
        quorums = Quorums((ROOT / "addressbook" / "test" / book).read_bytes())
        groups.append((tmp_path / group, quorums.quorum()))
    flipped = 0
    while flipped < FLIPS:
        folder, quorum = choose.choice(groups)
        kind = choose.choice(_KINDS)
        paths = sorted(folder.rglob(kind))
        if not paths:
            continue
        path = choose.choice(paths)
        intact = path.read_bytes()
        damaged = bytearray(intact)
        damaged[choose.randrange(len(intact))] ^= 1 << choose.randrange(8)
        path.write_bytes(damaged)
        try:
            check_refused(folder, path, quorum, intact)
        finally:
            path.write_bytes(intact)
        flipped += 1


def check_refused(folder: Path, path: Path, quorum: Quorum, intact: bytes) -> None:
    time = path.name.partition("Z")[0]
    (file,) = [file for file in find_record_files([folder]) if file.name.startswith(time)]
    assert isinstance(file, LocalRecordFile)
    with suppress(StreamFileError):
        file.verify(lambda at: quorum, sidecars=True)
        # Nothing that is signed says when and where a file was compressed; its content is that of before.
        assert path.suffix == ".gz", path
        assert gzip.decompress(path.read_bytes()) == gzip.decompress(intact), path
