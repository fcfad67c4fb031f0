"""What loading would bring, from a sample: exact where all files are read, near where some are."""

from pathlib import Path

import pytest

from ledger.ingest.estimate import SAMPLED, Estimate, estimate, evenly
from ledger.ingest.pipeline import Pipeline
from ledger.stream.source import find_record_files
from tests.ledger.compose import Stream
from tests.ledger.ingest.load import settings, stored


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
def test_of_many_files_a_sample_tells_what_will_be_stored(tmp_path: Path) -> None:
    write(tmp_path, 3 * SAMPLED)
    files = find_record_files([tmp_path])

    expected = estimate(files)
    Pipeline().run(files)

    assert (expected.files, expected.sampled) == (3 * SAMPLED, SAMPLED)
    for table, rows in expected.rows.items():
        assert rows == pytest.approx(
            len(stored(table, "consensus_end" if table == "record_file" else "consensus_timestamp")), rel=0.05
        )


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
