"""Estimates from a sample: exact if all files are read, near if some are."""

from pathlib import Path

import pytest

from ledger.ingest import estimate as estimate_module
from ledger.ingest.estimate import SAMPLED, Estimate, Fetched, estimate, estimate_bucket, evenly
from ledger.ingest.pipeline import Pipeline
from ledger.stream.signature.address_book import read_address_book
from ledger.stream.source import bucket as bucket_module
from ledger.stream.source.bucket import Access, open_bucket
from ledger.stream.source.download import Layout as Folders
from ledger.stream.source.local import find_record_files
from mirror.core.values.hapi.messages import ContractBytecode, TransactionSidecarRecord
from tests.composing import Composer, Layout
from tests.ledger.compose import Stream
from tests.ledger.ingest.load import settings, stored
from tests.signing import signing_nodes

START = 1_735_689_600 * 10**9
MINUTE = 60 * 10**9


def write(folder: Path, blocks: int) -> None:
    stream = Stream()
    for _ in range(blocks):
        for _ in range(3):
            stream.send({1001: -5, 1002: 5})
        stream.block().write(folder)


def test_of_few_files_all_are_read_without_a_database(tmp_path: Path) -> None:
    write(tmp_path, 4)

    assert estimate(find_record_files([tmp_path])) == Estimate(
        files=4,
        bytes=sum(path.stat().st_size for path in tmp_path.rglob("*.rcd.gz")),
        sampled=4,
        transactions=12,
        rows={"crypto_transfer": 24, "transaction": 12, "transaction_hash": 12, "record_file": 4},
    )


@pytest.mark.usefixtures("ledger_tables")
def test_a_sample_of_many_files_estimates_the_rows(tmp_path: Path) -> None:
    write(tmp_path, 3 * SAMPLED)
    files = find_record_files([tmp_path])

    expected = estimate(files)
    Pipeline().run(files)

    assert (expected.files, expected.sampled) == (3 * SAMPLED, SAMPLED)
    for table, rows in expected.rows.items():
        assert rows == pytest.approx(
            len(stored(table, "consensus_end" if table == "record_file" else "consensus_timestamp")), rel=0.05
        )


def signature(folder: Path) -> int:
    """Return the size of a signature file."""
    return next(folder.rglob("*_sig")).stat().st_size


@pytest.mark.parametrize("layout", Layout)
def test_of_a_bucket_places_are_looked_into(layout: Layout, tmp_path: Path) -> None:
    """Two hours; in the second one three times as many files appear."""
    composer = Composer(nodes=signing_nodes(2), start=START)
    for minute in [*range(0, 60, 3), *range(60, 120)]:
        composer.consensus_timestamp = START + minute * MINUTE
        composer.crypto_transfer({2: -5, 1002: 5})
        composer.block().write(tmp_path, layout.folder)
    nodes = read_address_book("", composer.address_book())
    bucket = open_bucket(str(tmp_path), Access())

    expected = estimate_bucket(bucket, Folders(network="demo"), nodes, START, START + 120 * MINUTE)
    half = estimate_bucket(bucket, Folders(network="demo"), nodes, START, START + 60 * MINUTE)

    assert (expected.files, expected.transactions, half.files) == (80, 80, 20)
    assert expected.rows["transaction"] == expected.rows["record_file"] == 80
    assert expected.fetched == Fetched(
        sidecars=0, sidecar_bytes=0, signatures=160, signature_bytes=160 * signature(tmp_path), listings=2
    )
    assert expected.fetched.latency > 0 and expected.seconds > 0
    size = sum(path.stat().st_size for path in tmp_path.rglob("*.rcd.gz")) / 2
    assert expected.bytes == pytest.approx(size, rel=0.05)


def test_sidecars_of_a_bucket_are_counted(tmp_path: Path) -> None:
    composer = Composer(nodes=signing_nodes(1), start=START, interval=MINUTE)
    for number in range(6):
        sidecar = TransactionSidecarRecord(bytecode=ContractBytecode(runtime_bytecode=b"\x60"))
        composer.crypto_transfer({2: -5, 1002: 5}, sidecars=[sidecar] if number % 2 else [])
        composer.block().write(tmp_path)
    nodes = read_address_book("", composer.address_book())

    expected = estimate_bucket(
        open_bucket(str(tmp_path), Access()), Folders(network="demo"), nodes, START, START + 40 * MINUTE
    )

    sizes = [path.stat().st_size for path in (tmp_path).rglob("sidecar/*")]
    assert expected.fetched is not None
    assert (expected.fetched.sidecars, expected.fetched.sidecar_bytes) == (3, sum(sizes))


def test_files_after_the_end_of_a_listing_are_estimated_by_density(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    composer = Composer(nodes=signing_nodes(1), start=START, interval=MINUTE)
    for _ in range(400):
        composer.crypto_transfer({2: -5, 1002: 5})
        composer.block().write(tmp_path)
    nodes = read_address_book("", composer.address_book())
    for module in (bucket_module, estimate_module):
        monkeypatch.setattr(module, "PAGE", 5)
    bucket = open_bucket(str(tmp_path), Access())

    expected = estimate_bucket(bucket, Folders(network="demo"), nodes, START, START + 400 * MINUTE)

    assert expected.files == pytest.approx(400, rel=0.05)


def test_of_an_empty_bucket_there_is_nothing(tmp_path: Path) -> None:
    nodes = read_address_book("", Composer(nodes=signing_nodes(1)).address_book())

    found = estimate_bucket(open_bucket(str(tmp_path), Access()), Folders(network="demo"), nodes, 5, 500)

    nothing = Fetched(sidecars=0, sidecar_bytes=0, signatures=0, signature_bytes=0, listings=0)
    assert found == Estimate(files=0, bytes=0, sampled=0, transactions=0, rows={}, fetched=nothing)
    assert (found.seconds, found.fetched and found.fetched.latency) == (0, 0)


def test_filters_count(tmp_path: Path) -> None:
    write(tmp_path, 2)

    with settings(importer__parser__include="entity=9999"):
        expected = estimate(find_record_files([tmp_path]))

    assert expected.rows == {"record_file": 2}


@pytest.mark.parametrize(
    ("files", "count", "expected"),
    [(0, 5, []), (3, 5, [0, 1, 2]), (5, 5, [0, 1, 2, 3, 4]), (9, 3, [0, 4, 8]), (100, 4, [0, 33, 66, 99])],
)
def test_a_sample_is_even_and_has_both_ends(files: int, count: int, expected: list[int]) -> None:
    assert evenly(range(files), count) == expected
