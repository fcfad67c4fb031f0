"""Ranges of what an older release, or the original, has loaded."""

from typing import Any

import pytest

from ledger.backfills import loaded_ranges
from ledger.ingest.pipeline import Pipeline
from mirror.core.db.schema.backfill import KeyRange
from mirror.models import LoadedRange
from tests.build import START, Build
from tests.ledger.ingest.test_coverage import stream
from tests.upgrading import ALL_TIME, put_ahead, upgrade


def ranges(*columns: str) -> list[Any]:
    columns = columns or ("first_block", "last_block", "files", "transactions", "rests_on")
    return list(LoadedRange.objects.order_by("consensus_start").values_list(*columns))


@pytest.mark.django_db
def test_files_that_go_on_with_each_other_become_a_range_and_a_gap_begins_another(build: Build) -> None:
    for number in (0, 1, 2, 7, 8):
        build.block(number, count=2)

    (state,) = upgrade("loaded_ranges")

    assert state.rows == 5
    assert ranges() == [(0, 2, 3, 6, "genesis"), (7, 8, 2, 4, "unknown")]
    assert ranges("signed", "filters") == [(None, None)] * 2


@pytest.mark.django_db
def test_pieces_from_the_newest_file_down_are_put_together(build: Build) -> None:
    ends = [START + number * 10**9 for number in range(9)]
    for number, end in enumerate(ends):
        build.block(number + 3, end=end)

    for piece in (KeyRange(ends[6], ALL_TIME), KeyRange(ends[1], ends[6]), KeyRange(0, ends[1])):
        loaded_ranges.add_ranges(piece)

    assert ranges() == [(3, 11, 9, 9, "unknown")]
    assert ranges("consensus_end") == [(ends[-1],)]


def test_it_joins_what_the_loader_has_added_since(tmp_path, ledger_tables) -> None:
    files = stream(tmp_path, 6)
    Pipeline().run(files[:4])
    LoadedRange.objects.all().delete()
    Pipeline().run(files[:5])
    put_ahead("loaded_ranges")

    upgrade()

    assert ranges() == [(0, 3, 4, 8, "genesis"), (4, 4, 1, 2, "range")]

    Pipeline().run(files)

    assert ranges() == [(0, 3, 4, 8, "genesis"), (4, 5, 2, 4, "range")]


def test_a_loader_that_goes_on_later_joins_it(tmp_path, ledger_tables) -> None:
    files = stream(tmp_path, 4)
    Pipeline().run(files[1:3])
    LoadedRange.objects.all().delete()
    upgrade("loaded_ranges")

    Pipeline().run(files[1:])

    assert ranges() == [(1, 2, 2, 4, "unknown"), (3, 3, 1, 2, "range")]
