"""The access log: lines like all others, for each answer."""

import os
from typing import Any

import pytest

from mirror.core.logs import REQUEST_ID, access, logger
from mirror.core.logs.configuring import formatter

log = logger(access.LOGGER)

VALUES = ("GET", "/api/v1/blocks?limit=2", 200, 1.25, 2, 512, "192.0.2.7", "ab-1")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What has been written to standard error."""
    reading, writing = os.pipe()
    monkeypatch.setattr(access, "_STANDARD_ERROR", writing)
    yield lambda: os.read(reading, 100_000).decode()
    os.close(reading)
    os.close(writing)


def without_time(line: str) -> str:
    start = line.index("20")
    return line[:start] + line[start + len("2026-11-22T03:00:12.345Z") :]


@pytest.mark.parametrize("format", ["text", "json"])
@pytest.mark.parametrize("path", [VALUES[1], "/a b\n2026 error", '/"\\', "/Zürich\x9b", ""])
def test_a_line_has_the_form_of_all_others(
    settings_of: Any, caplog: pytest.LogCaptureFixture, written: Any, format: str, path: str
) -> None:
    settings_of({"logging.access": True, "logging.format": format})
    values = (VALUES[0], path, *VALUES[2:])
    caplog.set_level("INFO", access.LOGGER)
    *keys, request_id = zip(access.KEYS, values, strict=True)
    token = REQUEST_ID.set(str(request_id[1]))
    log.info(access.EVENT, **dict(keys))
    expected = formatter(format).format(caplog.records[-1])
    REQUEST_ID.reset(token)

    access_log = access.log()

    assert access_log is not None
    access_log(*values)
    access_log.write()
    assert without_time(written()) == without_time(expected) + "\n"


def test_there_is_no_access_log_unless_a_setting_wants_it(settings_of: Any) -> None:
    assert access.log() is None


def test_a_log_that_nobody_reads_stops_nobody(settings_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings_of({"logging.access": True})
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(access, "_STANDARD_ERROR", writing)

    access_log = access.log()

    assert access_log is not None
    access_log(*VALUES)
    access_log.write()
    os.close(writing)


def test_lines_come_in_pieces_that_a_pipe_takes_whole(settings_of: Any, written: Any) -> None:
    settings_of({"logging.access": True})
    access_log = access.log()
    assert access_log is not None

    for number in range(100):
        access_log(*VALUES[:-1], str(number))
    access_log.write()

    pieces: list[str] = []
    while not pieces or sum(piece.count("\n") for piece in pieces) < 100:
        pieces.append(written())
    lines = "".join(pieces).splitlines()
    assert [f" request_id={number} " in line for number, line in enumerate(lines)] == [True] * 100
