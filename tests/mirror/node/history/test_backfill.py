"""`manage.py backfill`: the result equals one ordered load, in every table."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from ledger.ingest.pipeline import Pipeline
from ledger.stream.source.local import find_record_files
from mirror.demo.keys.nodes import nodes
from mirror.demo.publish.history import History
from mirror.demo.run import ADDRESS_BOOK_FILE, first_book
from mirror.models import LoadedRange
from mirror.node.history import plan
from tests.ledger.ingest.load import settings
from tests.ledger.ingest.tables import contents, empty_tables

BLOCKS, TPS = 30, 8


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half a minute of the simulated network, with people who meet again later."""
    folder = tmp_path_factory.mktemp("stream")
    for _, block in History(BLOCKS, TPS, 5, 30).play(nodes()):
        block.write(folder)
    (folder / ADDRESS_BOOK_FILE).write_bytes(first_book())
    return folder


def load(files: Any, **options: Any) -> None:
    from ledger.ingest.trust import Trust

    Pipeline(trust=Trust(first_book()), **options).run(files)


def whole() -> dict[str, list[str]]:
    ranges = [str(row) for row in LoadedRange.objects.order_by("consensus_start").values()]
    return contents() | {"loaded_range": ranges}


def backfill(*words: Any) -> str:
    said = StringIO()
    call_command("backfill", *map(str, words), stdout=said)
    return said.getvalue()


@pytest.mark.django_db(transaction=True)
def test_history_before_the_loaded_part_comes_out_as_if_all_had_been_loaded_in_order(stream):
    files = find_record_files([stream])
    with settings(network="simulated", db__url="postgresql:///of_the_tests"):
        load(files)
        ordered = whole()
        empty_tables()
        load(files[BLOCKS // 2 :])
        assert whole() != ordered

        said = backfill("genesis", "head", stream)

    assert whole() == ordered, said
    assert plan.stored() is None
