"""Files and their contents."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import KeyList
from mirror.core.values.hapi.transaction_types import NUMBERS
from tests.ledger.compose import INSUFFICIENT_PAYER_BALANCE, KEY, Stream, receipt
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

CREATE, APPEND, UPDATE = (NUMBERS[name] for name in ("FILECREATE", "FILEAPPEND", "FILEUPDATE"))
CONTENT = "consensus_timestamp, entity_id, file_data, transaction_type"


def file(number: int = 1005) -> dict[str, int]:
    return {"fileNum": number}


def create(stream: Stream, contents: bytes = b"one", number: int = 1005, **body: Any) -> int:
    return stream.happen("fileCreate", {"contents": contents} | body, receipt(fileID=file(number)))


def append(stream: Stream, contents: bytes, number: int = 1005, **options: Any) -> int:
    return stream.happen("fileAppend", {"fileID": file(number), "contents": contents}, **options)


def update(stream: Stream, contents: bytes = b"", number: int = 1005, **body: Any) -> int:
    return stream.happen("fileUpdate", {"fileID": file(number), "contents": contents} | body)


@pytest.mark.checklist("FIL-01", "FIL-07")
def test_content_is_a_row_even_if_empty() -> None:
    stream = Stream()
    rows = [
        (create(stream), 1005, b"one", CREATE),
        (append(stream, b"two"), 1005, b"two", APPEND),
        (update(stream, b"new"), 1005, b"new", UPDATE),
        (update(stream), 1005, b"", UPDATE),
    ]
    append(stream, b"failed", result=INSUFFICIENT_PAYER_BALANCE)

    load(stream.block())

    assert stored("file_data", CONTENT) == rows
    assert stored("transaction", "index, entity_id") == [(index, 1005) for index in range(5)]


@pytest.mark.checklist("FIL-02", "FIL-03")
@pytest.mark.parametrize(
    ("files", "system_files", "kept"),
    [
        (True, True, [101, 102, 111, 999, 1000]),
        (True, False, [101, 102, 111, 999, 1000]),
        (False, True, [101, 102, 111, 999]),
        (False, False, [101, 102]),
    ],
)
def test_all_contents_but_address_books_can_be_left_out(
    files: bool, system_files: bool, kept: list[int]
) -> None:
    stream = Stream()
    for number in (101, 102, 111, 999, 1000):
        update(stream, b"\xff", number)

    with settings(persist__files=files, persist__systemFiles=system_files):
        load(stream.block())

    assert stored("file_data", "entity_id") == [(number,) for number in kept]


@pytest.mark.checklist("FIL-04")
def test_a_new_file_has_a_key_list_and_no_public_key() -> None:
    stream = Stream()
    at = create(stream, keys={"keys": [KEY]}, memo="mine", expirationTime={"seconds": 9})

    load(stream.block())

    columns = "id, type, key, public_key, memo, expiration_timestamp, created_timestamp, deleted"
    keys = KeyList(keys=[KEY]).SerializeToString()
    assert stored("entity", columns) == [(1005, "FILE", keys, None, "mine", 9 * 10**9, at, False)]


@pytest.mark.checklist("FIL-05")
def test_appending_changes_no_entity() -> None:
    stream = Stream()
    at = create(stream)
    append(stream, b"more")

    load(stream.block())

    assert stored("entity", "timestamp_range") == [(f"[{at},)",)]
    assert stored("entity_history", "id") == []


def test_an_update_changes_what_it_sets() -> None:
    stream = Stream()
    created = create(stream, memo="old", keys={"keys": [KEY]})
    first = stream.block()
    at = update(stream, memo={"value": "new"}, expirationTime={"seconds": 9})

    load_in_any_batches(first, stream.block())

    keys = KeyList(keys=[KEY]).SerializeToString()
    assert stored("entity", "memo, key, expiration_timestamp, timestamp_range") == [
        ("new", keys, 9 * 10**9, f"[{at},)")
    ]
    assert stored("entity_history", "memo, timestamp_range") == [("old", f"[{created},{at})")]


@pytest.mark.checklist("FIL-06")
def test_a_file_is_deleted_and_restored() -> None:
    stream = Stream()
    create(stream)
    stream.happen("fileDelete", {"fileID": file()})
    first = stream.block()
    stream.happen("systemUndelete", {"fileID": file()})

    load(first)
    assert stored("entity", "id, deleted") == [(1005, True)]
    load(stream.block())
    assert stored("entity", "id, deleted") == [(1005, False)]
