"""Going over from record files to blocks."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger.ingest.following.cutover import Choice, LastFile, Stream
from ledger.stream.record_file import RecordFile
from mirror.core.config.setting import OperatorError
from mirror.core.values.hapi.messages import TransactionBody
from mirror.demo.publish.block_node import BlockNodeServer
from tests.composing import Composer
from tests.ledger.ingest.following.going_over import follow
from tests.ledger.ingest.load import stored
from tests.ledger.stream.block.blocks import BlockStream
from tests.ledger.stream.block.ledgers import LEDGER, publication
from tests.signing import signing_nodes
from tests.waiting import PATIENCE_SECONDS

GOING_OVER = {"importer.block.cutover.enabled": "true"}
FIRST_STAGE = GOING_OVER | {"importer.block.cutover.firstStage.enabled": True}
RECORD_075, RECORD_076 = LastFile(6, (0, 75, 0), 0), LastFile(6, (0, 76, 0), 0)
BLOCK = LastFile(7, (0, 76, 0), 0)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def file(version: int, hapi_version: tuple[int, int, int], end: float) -> RecordFile:
    read = next(iter(_composed(hapi_version)))
    return replace(read, version=version, consensus_end=round(end * 10**9))


def _composed(hapi_version: tuple[int, int, int]) -> Iterator[RecordFile]:
    from ledger.stream.record_formats import read_record_file

    composer = Composer(hapi_version=hapi_version)
    composer.crypto_transfer({2: -5, 3: 5})
    block = composer.block()
    yield read_record_file(block.name, block.data)


# THE CHOICE


def followed_by(choice: Choice) -> Stream:
    return choice.stream


@pytest.mark.parametrize(
    ("changes", "last", "expected"),
    [
        ({}, None, Stream.RECORD),
        ({}, RECORD_076, Stream.RECORD),
        ({}, BLOCK, Stream.BLOCK),
        ({"importer.block.enabled": "true"}, None, Stream.BLOCK),
        ({"importer.block.enabled": "false"}, BLOCK, Stream.BLOCK),
        (GOING_OVER, None, Stream.RECORD),
        (GOING_OVER | {"importer.block.enabled": "true"}, None, Stream.BLOCK),
        (GOING_OVER | {"importer.block.enabled": "true"}, RECORD_076, Stream.BLOCK),
        (FIRST_STAGE | {"importer.block.enabled": "true"}, RECORD_075, Stream.BLOCK),
        (GOING_OVER, RECORD_075, Stream.RECORD),
        (GOING_OVER, RECORD_076, Stream.RECORD),
        (GOING_OVER, BLOCK, Stream.BLOCK),
        (FIRST_STAGE, RECORD_075, Stream.BLOCK),
        (FIRST_STAGE, None, Stream.RECORD),
    ],
)
def test_the_stream_to_begin_with(settings_of, changes, last, expected):
    settings_of(changes)

    assert followed_by(Choice(last)) == expected


def test_a_start_at_a_time_begins_with_record_files_and_stays_there_until_the_first(settings_of):
    settings_of(GOING_OVER)
    clock = Clock()
    choice = Choice(None, clock, starts_at_time=True)

    clock.now = 1000
    choice.nothing_new()
    assert followed_by(choice) == Stream.RECORD
    choice.file_verified(file(6, (0, 76, 0), 5))
    clock.now = 1016
    choice.nothing_new()
    assert followed_by(choice) == Stream.BLOCK


def test_only_a_change_of_the_stream_is_logged_not_the_one_to_begin_with(settings_of, caplog):
    caplog.set_level(logging.INFO)
    settings_of(GOING_OVER | {"importer.block.enabled": "true"})
    assert followed_by(Choice(None)) == Stream.BLOCK
    settings_of(FIRST_STAGE | {"importer.block.enabled": "AUTO"})
    choice = Choice(RECORD_075, Clock())
    assert followed_by(choice) == Stream.BLOCK
    assert "stream_changed" not in caplog.text

    choice.nothing_new()

    assert caplog.text.count("stream_changed") == 1


def test_a_version_that_is_none_is_refused(settings_of):
    settings_of(GOING_OVER | {"importer.block.cutover.hapiVersion": "0.76"})

    with pytest.raises(OperatorError, match="is no version such as"):
        Choice(None)


def test_both_streams_are_looked_for_in_turn_until_the_first_block(settings_of):
    settings_of(GOING_OVER)
    clock = Clock()
    choice = Choice(RECORD_076, clock)

    clock.now = 15
    choice.nothing_new()
    assert followed_by(choice) == Stream.RECORD
    clock.now = 16
    choice.nothing_new()
    assert followed_by(choice) == Stream.BLOCK
    clock.now = 32
    choice.nothing_new()
    assert followed_by(choice) == Stream.RECORD
    clock.now = 40
    choice.file_verified(file(6, (0, 76, 0), 5))
    clock.now = 55
    choice.nothing_new()
    assert followed_by(choice) == Stream.RECORD
    clock.now = 56
    choice.nothing_new()
    choice.file_verified(file(7, (0, 76, 0), 6))
    clock.now = 500
    choice.nothing_new()
    assert followed_by(choice) == Stream.BLOCK


def test_who_wants_blocks_gets_no_record_files_though_no_block_comes(settings_of):
    settings_of(GOING_OVER | {"importer.block.enabled": "true"})
    clock = Clock()
    choice = Choice(RECORD_076, clock)

    clock.now = 1000
    choice.nothing_new()

    assert followed_by(choice) == Stream.BLOCK


def test_before_the_version_of_the_switch_there_are_only_record_files(settings_of):
    settings_of(GOING_OVER)
    clock = Clock()
    choice = Choice(RECORD_075, clock)

    clock.now = 1000
    choice.nothing_new()
    assert followed_by(choice) == Stream.RECORD
    choice.file_verified(file(6, (0, 76, 0), 5))
    clock.now = 1016
    choice.nothing_new()
    assert followed_by(choice) == Stream.BLOCK


def test_in_the_first_stage_record_files_are_read_once_when_there_is_no_block(settings_of):
    settings_of(FIRST_STAGE)
    choice = Choice(RECORD_075, Clock())

    choice.nothing_new()
    assert followed_by(choice) == Stream.RECORD
    choice.nothing_new()
    assert followed_by(choice) == Stream.BLOCK


def test_in_the_first_stage_a_record_file_on_its_way_is_waited_for_but_not_for_ever(settings_of):
    settings_of(FIRST_STAGE)
    clock = Clock()
    choice = Choice(RECORD_075, clock)
    choice.nothing_new()

    clock.now = 15
    choice.nothing_new(fetching=True)
    assert followed_by(choice) == Stream.RECORD
    clock.now = 16
    choice.nothing_new(fetching=True)
    assert followed_by(choice) == Stream.BLOCK


def test_in_the_first_stage_record_files_are_read_once_when_blocks_are_late(settings_of):
    settings_of(FIRST_STAGE)
    clock = Clock()
    choice = Choice(LastFile(6, (0, 75, 0), 100 * 10**9), clock)

    clock.now = 10
    choice.file_verified(file(6, (0, 75, 0), 106.1))
    assert not choice.is_late()
    clock.now = 11
    choice.file_verified(file(6, (0, 75, 0), 106.9))
    assert choice.is_late()
    assert followed_by(choice) == Stream.RECORD
    choice.nothing_new()
    assert followed_by(choice) == Stream.BLOCK
    assert not choice.is_late()


# THE NETWORK


RECORDS, BLOCKS = 3, 3


@pytest.fixture
def going_over(tmp_path: Path, settings_of: Callable[..., None]) -> Iterator[tuple[Path, bytes, Any]]:
    """A network that ends its record files after the third and goes on with blocks."""
    composer = Composer(nodes=signing_nodes(3), hapi_version=(0, 76, 0))
    body = TransactionBody()
    body.ledger_id_publication.CopyFrom(type(body.ledger_id_publication)(**publication(LEDGER.identity)))
    composer.transaction(body)
    for _ in range(RECORDS):
        composer.crypto_transfer({2: -5, 1002: 5})
        composer.block().write(tmp_path)
    stream = BlockStream((0, 76, 0), first_block=RECORDS, signer=LEDGER)
    with BlockNodeServer() as server:
        settings_of(
            GOING_OVER
            | {
                "importer.block.cutover.threshold": 0.2,
                "importer.block.sourceType": "BLOCK_NODE",
                "importer.block.nodes": (f"127.0.0.1:{server.port}",),
                "importer.block.stream.responseTimeout": PATIENCE_SECONDS,
                "importer.downloader.timeout": PATIENCE_SECONDS,
                "importer.downloader.record.frequency": 0.05,
            }
        )
        for _ in range(BLOCKS):
            stream.happen("cryptoTransfer")
            block = stream.block()
            server.publish(block.number, block.content)
        yield tmp_path, composer.address_book(), server


@pytest.mark.usefixtures("ledger_tables")
def test_a_node_goes_over_by_itself_and_loads_each_transaction_once(going_over):
    folder, book, _ = going_over

    loaded = follow(folder, book, RECORDS + BLOCKS)

    assert loaded == [(0, 6), (1, 6), (2, 6), (3, 7), (4, 7), (5, 7)]
    assert len(stored("transaction", "consensus_timestamp")) == RECORDS + BLOCKS + 1


@pytest.mark.usefixtures("ledger_tables")
@pytest.mark.parametrize("first", [1, 3, 4])
def test_node_stopped_during_the_cutover_continues_there(going_over, first):
    folder, book, _ = going_over

    loaded = follow(folder, book, first)
    assert len(loaded) >= first
    # Files that had been read when the last one was committed were loaded, too.
    if left := RECORDS + BLOCKS - len(loaded):
        loaded = follow(folder, book, left)

    assert [number for number, _ in loaded] == list(range(RECORDS + BLOCKS))
