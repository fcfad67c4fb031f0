"""What is loaded, in rows of loaded_range."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ledger import loaded_ranges
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.source.local import find_record_files
from mirror.core import config
from mirror.core.values import timestamp
from mirror.models import LoadedRange
from tests.composing import Composer
from tests.signing import signing_nodes

pytestmark = pytest.mark.usefixtures("ledger_tables")


def stream(folder: Path, blocks: int) -> list[Any]:
    composer = Composer()
    for _ in range(blocks):
        composer.crypto_create(1001 + composer.block_number, initial_balance=1000)
        composer.crypto_transfer({1001: -5, 2: 5}, payer=1001)
        composer.block().write(folder)
    return find_record_files([folder])


def ranges(*columns: str) -> list[Any]:
    return list(LoadedRange.objects.order_by("consensus_start").values_list(*columns))


def test_files_that_follow_each_other_are_one_range_also_over_several_runs(tmp_path):
    files = stream(tmp_path, 5)
    first, last = files[0].record_file(), files[-1].record_file()

    Pipeline().run(files[:2])
    Pipeline().run(files)

    assert list(LoadedRange.objects.values()) == [
        {
            "consensus_start": first.consensus_start,
            "consensus_end": last.consensus_end,
            "first_block": 0,
            "last_block": 4,
            "files": 5,
            "transactions": 10,
            "signed": False,
            "filters": {},
            "rests_on": "genesis",
            "basis": "",
        }
    ]


def test_a_start_in_the_middle_rests_on_nothing_and_a_gap_begins_another_range(tmp_path):
    files = stream(tmp_path, 6)

    Pipeline().run(files[2:4])
    Pipeline(LoadOptions(allow_gap=True)).run(files[5:])

    assert ranges("first_block", "last_block", "files", "rests_on") == [
        (2, 3, 2, "nothing"),
        (5, 5, 1, "nothing"),
    ]


def test_other_filters_begin_a_range_after_the_first(tmp_path):
    files = stream(tmp_path, 4)

    Pipeline().run(files[:2])
    restore = config.overridden({"importer.parser.include": "transaction=CRYPTOTRANSFER"})
    try:
        Pipeline().run(files[2:])
    finally:
        restore.close()

    chosen = {"importer.parser.include": "transaction=CRYPTOTRANSFER"}
    assert ranges("first_block", "last_block", "filters", "rests_on", "transactions") == [
        (0, 1, {}, "genesis", 4),
        (2, 3, chosen, "range", 4),
    ]


PERSIST = "importer.parser.record.entity.persist."
SNAPSHOTS = "importer.parser.record.historicalBalance."


@pytest.mark.parametrize(
    ("name", "value", "leaves_out"),
    [
        (PERSIST + "entityTransactions", True, False),
        (PERSIST + "transactionBytes", True, False),
        (PERSIST + "syntheticContractLogEvmAddressLookup", False, False),
        (PERSIST + "transactionSignatures", ("CRYPTOTRANSFER", "SCHEDULESIGN", "SCHEDULECREATE"), False),
        (PERSIST + "transactionHashExclusion", (), False),
        (SNAPSHOTS + "minFrequency", 600.0, False),
        (PERSIST + "topics", False, True),
        (PERSIST + "transactionSignatures", ("SCHEDULESIGN",), True),
        (PERSIST + "transactionHashExclusion", ("CONSENSUSSUBMITMESSAGE", "CRYPTOTRANSFER"), True),
        (SNAPSHOTS + "minFrequency", 3600.0, True),
        ("importer.parser.record.sidecar.enabled", False, True),
    ],
)
def test_only_a_setting_that_stores_less_is_a_filter(tmp_path, name, value, leaves_out):
    files = stream(tmp_path, 2)

    restore = config.overridden({name: value})
    try:
        Pipeline().run(files)
    finally:
        restore.close()

    (filters,) = LoadedRange.objects.values_list("filters", flat=True)
    assert list(filters or ()) == [name] * leaves_out
    assert loaded_ranges.read().filters == (name,) * leaves_out


def test_a_stored_range_of_an_older_release_is_judged_by_its_values(tmp_path):
    Pipeline().run(stream(tmp_path, 2))
    of_older_release = {PERSIST + "entityTransactions": True, PERSIST + "claims": True}
    LoadedRange.objects.update(filters=of_older_release)
    assert loaded_ranges.read().is_complete

    LoadedRange.objects.update(filters=of_older_release | {PERSIST + "topics": False})

    assert loaded_ranges.read().filters == (PERSIST + "topics",)


def test_files_without_signatures_are_a_range_of_their_own(tmp_path):
    composer = Composer(nodes=signing_nodes(3))
    for _ in range(4):
        composer.crypto_transfer({2: -5, 1002: 5})
        composer.block().write(tmp_path)
    files = find_record_files([tmp_path])

    Pipeline(LoadOptions(quorums=Quorums(composer.address_book()))).run(files[:2])
    Pipeline().run(files[2:])

    assert ranges("last_block", "signed", "rests_on") == [(1, True, "genesis"), (3, False, "range")]


def test_a_damaged_file_leaves_the_range_of_those_before_it(tmp_path):
    files = stream(tmp_path, 4)
    damaged = files[2].path
    damaged.write_bytes(damaged.read_bytes()[:-40])

    with pytest.raises(Exception, match=damaged.name):
        Pipeline().run(find_record_files([tmp_path]))

    assert ranges("first_block", "last_block", "files", "transactions") == [(0, 1, 2, 4)]


def test_a_file_that_a_date_cuts_is_a_range_of_its_own_that_names_the_date(tmp_path):
    files = stream(tmp_path, 4)
    # After the first of the two transactions of the third file.
    end = timestamp.text(files[2].record_file().consensus_start)
    date = datetime.fromtimestamp(int(end.split(".")[0]), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    restore = config.overridden({"importer.endDate": date})
    try:
        Pipeline().run(files[:3])
    finally:
        restore.close()
    Pipeline().run(files)

    assert ranges("first_block", "last_block", "filters", "rests_on") == [
        (0, 1, {}, "genesis"),
        (2, 2, {"importer.endDate": date}, "range"),
        (3, 3, {}, "range"),
    ]
