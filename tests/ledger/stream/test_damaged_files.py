"""Damaged files: any bytes are read, or raise a StreamFileError that names the file; never another error."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.stream import content
from ledger.stream.content import MAX_STORED
from ledger.stream.errors import StreamFileError
from ledger.stream.record_formats import read_record_file
from ledger.stream.signature.address_book import read_address_book
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import HashObject, RecordStreamFile
from tests.ledger.stream.record_formats import TIME, record_v1_v2, record_v5, sound_files, transactions

SOUND = sound_files()
every_kind = pytest.mark.parametrize("file", SOUND, ids=lambda file: file.kind)
# Cut off between two transactions or fields these are other files, not broken ones; their hash tells.
CUT_UNNOTICED = {"record v1", "record v2", "record v6"}
# A protobuf message may always go on with fields the reader does not know.
OPEN_ENDED = {"signature v6"}


def unpacked(file):
    return gzip.decompress(file.data) if file.name.endswith(".gz") else file.data


def packed(file, data):
    return gzip.compress(data, mtime=0) if file.name.endswith(".gz") else data


def read_or_fail(file, data):
    """Return the file that is read, None when reading fails as it should."""
    try:
        return file.read(file.name, data)
    except StreamFileError as error:
        assert error.file == file.name
        assert error.position >= 0
        assert error.cause
        return None


def differs(file, read):
    return file.kind in CUT_UNNOTICED and read.file_hash != file.read(file.name, file.data).file_hash


@every_kind
def test_the_sound_file_reads(file):
    assert read_or_fail(file, file.data) is not None


@every_kind
def test_a_file_cut_off_anywhere_is_refused(file):
    for length in range(len(file.data)):
        read = read_or_fail(file, file.data[:length])
        assert read is None or differs(file, read)


@every_kind
def test_content_cut_off_anywhere_is_refused(file):
    data = unpacked(file)

    for length in range(len(data)):
        read = read_or_fail(file, packed(file, data[:length]))
        assert read is None or differs(file, read)


@every_kind
@given(extra=st.binary(min_size=1, max_size=70))
def test_bytes_after_the_end_are_refused(file, extra):
    assert read_or_fail(file, file.data + extra) is None or file.kind in OPEN_ENDED


@every_kind
@given(data=st.data())
def test_flipped_bits_give_another_file_or_an_error(file, data):
    content = bytearray(unpacked(file))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))

    read_or_fail(file, packed(file, bytes(content)))


@every_kind
def test_any_one_byte_spoiled_gives_another_file_or_an_error(file):
    content = unpacked(file)

    for position in range(len(content)):
        for byte in (0x00, 0x7F, 0xFF):
            spoiled = content[:position] + bytes([byte]) + content[position + 1 :]
            read_or_fail(file, packed(file, spoiled))


@every_kind
@given(data=st.data())
def test_inserted_bytes_give_another_file_or_an_error(file, data):
    content = unpacked(file)
    position = data.draw(st.integers(0, len(content)))
    inserted = data.draw(st.binary(min_size=1, max_size=20))

    read_or_fail(file, packed(file, content[:position] + inserted + content[position:]))


@every_kind
@given(data=st.binary(max_size=300))
def test_foreign_bytes_are_refused(file, data):
    assert read_or_fail(file, data) is None
    assert read_or_fail(file, packed(file, data)) is None


@pytest.mark.parametrize("version", [1, 2, 5, 6])
@given(data=st.binary(max_size=300))
def test_foreign_bytes_after_a_known_version_give_a_file_or_an_error(version, data):
    try:
        read_record_file(f"{TIME}.rcd", version.to_bytes(4, "big") + data)
    except StreamFileError as error:
        assert error.file == f"{TIME}.rcd"


@pytest.mark.parametrize("version", [-1, 0, 3, 4, 7, 1 << 24])
def test_an_unknown_version_is_named(version):
    with pytest.raises(StreamFileError, match=f"format {version} is unknown; known are 1, 2, 5, 6"):
        read_record_file(f"{TIME}.rcd", version.to_bytes(4, "big", signed=True) + bytes(100))


def test_gzip_data_that_unfolds_without_bound_is_refused(monkeypatch):
    monkeypatch.setattr(content, "MAX_CONTENT", 1 << 20)
    bomb = gzip.compress(bytes(1 << 24))

    with pytest.raises(StreamFileError, match="unfolds to more than 1048576 bytes"):
        read_record_file(f"{TIME}.rcd.gz", bomb)


def test_a_file_too_large_to_be_one_is_refused():
    with pytest.raises(StreamFileError, match=f"at most {MAX_STORED}"):
        read_record_file(f"{TIME}.rcd", bytes(MAX_STORED + 1))


def test_an_empty_file_is_refused():
    with pytest.raises(StreamFileError, match="the file is empty"):
        read_record_file(f"{TIME}.rcd", b"")


def test_an_unknown_compressor_is_named():
    with pytest.raises(StreamFileError, match="compressed by xz"):
        read_record_file(f"{TIME}.rcd.xz", b"data")


@pytest.mark.parametrize(
    ("data", "position", "cause"),
    [
        (record_v1_v2(2, transactions())[:30], 9, "the previous hash: 27 of 48 bytes are missing"),
        (record_v1_v2(2, [])[:8] + b"\7" + bytes(48), 8, "previous hash marker is 0x7, not 0x1"),
        (record_v1_v2(2, []) + b"\3", 57, "record marker is 0x3, not 0x2"),
        (record_v1_v2(2, []) + b"\2" + bytes(4), 58, "transaction is 0 bytes long, not 1 to 65536"),
        (record_v1_v2(1, []) + b"\2\x00\x01\x00\x01", 58, "transaction is 65537 bytes long, not 1 to 65536"),
        (record_v1_v2(1, []) + b"\2\0\0\0\1\xff\0\0\0\1\0", 57, "transaction 0 of the file is unusable"),
        (record_v5(transactions(), hapi_version=(0, 1, 2)) + b"x", 0, "1 bytes follow the end"),
        (record_v5([]), 88, "class id of a transaction is 0xf422da83a251741e, not 0xe370929ba5429d8b"),
        (record_v5(transactions()).replace(b"\x58\xff\x81\x1b", bytes(4)), 32, "digest type"),
    ],
)  # fmt: skip
def test_the_error_tells_where_and_why(data, position, cause):
    with pytest.raises(StreamFileError, match=cause) as caught:
        read_record_file(f"{TIME}.rcd", data)

    assert position in (0, caught.value.position)
    assert str(caught.value).startswith(f"{TIME}.rcd, byte {caught.value.position}: ")


@pytest.mark.parametrize(("before", "position"), [(b"", 116), (b"\x7b\x7c", 4), (b"\x18\x01", 118)])
def test_an_unusable_item_of_format_6_is_named_even_behind_fields_nobody_knows(before, position):
    running = HashObject(algorithm=1, length=48, hash=bytes(48))
    hashes = RecordStreamFile(start_object_running_hash=running, end_object_running_hash=running)
    data = b"\0\0\0\6" + hashes.SerializeToString() + before + wire.length_delimited(3, b"")

    with pytest.raises(
        StreamFileError, match="transaction 0 of the file is unusable: its transaction has no"
    ) as at:
        read_record_file(f"{TIME}.rcd", data)

    assert at.value.position == position


@given(st.binary(max_size=200))
def test_any_bytes_are_an_address_book_or_an_error(data):
    try:
        read_address_book("book", data)
    except StreamFileError as error:
        assert error.file == "book"
