"""A network goes over from record files to blocks, both in a folder: in one stage, in two, by mistake."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.ingest.following.configured_blocks import open_block_source
from ledger.ingest.following.follower import BlockFollower
from ledger.ingest.trusted_nodes import Quorums
from tests.ledger.ingest.following.going_over import RECORDS, Network
from tests.ledger.ingest.load import stored

pytestmark = pytest.mark.usefixtures("ledger_tables")


@pytest.fixture
def network(tmp_path: Path, settings_of: Callable[..., None]) -> Network:
    settings_of(
        {
            "network": "demo",
            "importer.block.cutover.enabled": "true",
            "importer.block.frequency": 0.01,
            "importer.downloader.record.frequency": 0.01,
        }
    )
    return Network(tmp_path)


def transactions() -> int:
    return len(stored("transaction", "consensus_timestamp"))


WHOLE = [(number, 6) for number in range(RECORDS)] + [(number, 7) for number in range(RECORDS, RECORDS + 3)]


@pytest.mark.parametrize("stopped_after", [*range(1, 6), 6])
def test_in_one_stage_each_transaction_is_loaded_once_wherever_the_node_is_stopped(network, stopped_after):
    for _ in range(RECORDS):
        network.record()
    network.blocks()

    loaded = network.follow(stopped_after)
    if len(loaded) < len(WHOLE):
        loaded = network.follow(len(WHOLE) - len(loaded))

    assert loaded == WHOLE
    assert transactions() == len(WHOLE) + 1


def test_record_files_after_the_first_block_are_ignored(network):
    for _ in range(RECORDS):
        network.record()
    network.blocks()
    loaded = network.follow(4)
    for _ in range(2):
        network.record()

    # Files that had been read when the fourth one was committed were loaded, too.
    if len(loaded) < len(WHOLE):
        loaded = network.follow(len(WHOLE) - len(loaded))
    assert loaded == WHOLE
    assert transactions() == len(WHOLE) + 1


def test_blocks_that_begin_too_early_are_loaded_from_where_the_record_files_end(network):
    for _ in range(RECORDS):
        network.record()
    network.follow(RECORDS)
    # They are of the numbers of record files, as from a network that writes both for a while.
    network.blocks(5, first=1)

    assert network.follow(3) == WHOLE
    assert transactions() == len(WHOLE) + 1


@pytest.mark.parametrize("stopped_after", [1, 2, 3, 4])
def test_in_two_stages_record_files_come_wrapped_in_blocks_at_first(network, settings_of, stopped_after):
    settings_of({"importer.block.cutover.firstStage.enabled": True})
    network.record(wrapped=False)
    for _ in range(RECORDS - 1):
        network.record(written=False, wrapped=True)
    network.blocks()

    loaded = network.follow(stopped_after)
    if len(loaded) < len(WHOLE):
        loaded = network.follow(len(WHOLE) - len(loaded))

    assert loaded == WHOLE
    assert transactions() == len(WHOLE) + 1
    wrapped = [hash is not None for _, hash in stored("record_file", "index, wrapped_record_block_hash")]
    assert wrapped == [False, True, True, False, False, False]


def test_in_two_stages_record_files_help_out_where_no_wrapped_block_comes(network, settings_of):
    settings_of({"importer.block.cutover.firstStage.enabled": True})
    network.record(wrapped=True)
    network.record(wrapped=False)
    network.record(wrapped=True)
    network.blocks()

    assert network.follow(len(WHOLE), seconds=0.01) == WHOLE
    assert transactions() == len(WHOLE) + 1


def test_the_first_block_has_to_follow_the_block_around_the_last_record_file(network, settings_of):
    settings_of({"importer.block.cutover.firstStage.enabled": True})
    network.record()
    network.record(written=False, wrapped=True)
    network.record(written=False, wrapped=True)
    network.wrapped_hash = b"of another chain".ljust(48)
    network.blocks(1)
    network.follow(RECORDS)
    stopped = threading.Event()
    follower = BlockFollower(
        open_block_source(str(network.folder)), Quorums(network.composer.address_book()), stopping=stopped
    )
    files = follower.files()

    assert next(files) is None

    stopped.set()
    assert "its previous hash 6f6620616e6f7468" in str(follower.problem)
