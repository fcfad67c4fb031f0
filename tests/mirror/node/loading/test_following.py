"""Following a stream: whether there is one, and the lines it prints."""

import logging
import threading
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, cast

import pytest

from ledger.ingest.hash_chain import Position
from ledger.ingest.pipeline import Pipeline, Progress
from ledger.ingest.reporting import Reporting
from mirror.core.processes import progress
from mirror.node.loading import following
from mirror.start.up import follows

CLOSED = "http://127.0.0.1:1/streams"


def test_last_block_is_shown_with_its_date_and_age(
    settings_of: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_of({"clock.now": 1_717_200_000.0 + 400 * 86_400})
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0)
    said: list[str] = []
    last = Position("a.rcd", 1_717_200_000 * 10**9 + 5, "", 1234, 6)

    check = following.ClockCheck(said.append)
    following._Lines(said.append, Reporting(source=""), check).show(
        Progress(files=3, transactions=7000, last=last)
    )
    following._Lines(said.append, Reporting(source=""), check).show(
        Progress(
            files=3, last=replace(last, consensus_end=last.consensus_end + 400 * 86_400 * 10**9 - 10**10)
        )
    )

    assert said[0] == (
        "3 files with 7,000 transactions loaded; block 1,234 of 2024-06-01 00:00:00 UTC, 399 days old"
    )
    assert said[1].endswith(" UTC, 9 seconds old")


@pytest.mark.usefixtures("ledger_tables")
def test_bucket_that_never_answered_is_not_one_with_nothing_new(settings_of: Callable[..., None]) -> None:
    settings_of({"importer.downloader.retries": 0})
    stopping, said = threading.Event(), list[str]()

    class StopAtIncident(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            stopping.set()

    log, handler = logging.getLogger("ledger.ingest.following.follower"), StopAtIncident()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        done = following.follow(said.append, stopping, CLOSED, start="2024-06-01T00:00:00Z")
    finally:
        log.removeHandler(handler)
        log.setLevel(level)

    assert done.files == 0
    *_, last = said
    assert last.startswith(f"It was waiting for this: {CLOSED}: the files of ")
    assert " nodes can't be listed: can't be had: " in last
    assert last.endswith("See that the bucket can be reached and read with the configured credentials.")


@pytest.mark.usefixtures("ledger_tables")
def test_files_are_closed_before_an_error_is_reported() -> None:
    closed: list[bool] = []

    class Files:
        problem = None

        def files(self) -> Generator[Any]:
            try:
                yield "not a file"
            finally:
                closed.append(True)

    run = following._Run(lambda line: None, threading.Event(), "", "", "")
    with pytest.raises(AttributeError) as error:
        run._load(Pipeline(), cast(Any, Files()))

    # Its traceback refers to them.
    assert error.tb is not None
    assert closed == [True]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"importer.downloader.bucketName": "streams"}, True),
        ({"importer.downloader.bucketName": "streams", "importer.downloader.record.enabled": False}, False),
        ({"importer.block.enabled": "true"}, True),
        ({"importer.block.enabled": "true", "importer.downloader.record.enabled": False}, True),
    ],
)
def test_up_follows_a_configured_bucket_or_blocks(
    settings_of: Callable[..., None], changes: dict[str, object], expected: bool
) -> None:
    settings_of(changes)

    assert follows() is expected
