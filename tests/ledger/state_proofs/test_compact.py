"""The compact form of record files, which proves one transaction without the others."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.portable_proofs.documents import CompactRecordFileJson
from ledger.portable_proofs.strict_json import read
from ledger.state_proofs import NotFetched
from ledger.state_proofs.record_file_proofs import can_be_compact, compact
from ledger.stream.binary_format import after_hashes
from mirror.core.values.hashes import sha384
from tests.ledger.state_proofs.files import PROVED, published

HASH_LENGTH = 48


def metadata_hash(file: dict[str, Any]) -> bytes:
    if file["block_number"] is None:
        return sha384(file["head"] + file["start_running_hash_object"] + file["end_running_hash_object"])
    start, end = (
        file["start_running_hash_object"][-HASH_LENGTH:],
        file["end_running_hash_object"][-HASH_LENGTH:],
    )
    return sha384(file["head"] + start + end + file["block_number"])


@pytest.mark.parametrize("version", [5, 6])
def test_the_running_hash_and_the_signed_hash_follow_from_one_transaction_and_hashes(version: int) -> None:
    file = published(version)

    compacted = compact(file.record, file.content, file.proved.consensus_timestamp)
    short = read(compacted, CompactRecordFileJson)

    assert file.proved.record_bytes in short["record_stream_object"]
    assert short["record_stream_object"].endswith(file.proved.transaction_bytes)
    assert (len(short["hashes_before"]), len(short["hashes_after"])) == (PROVED, 2 - PROVED)
    hashes = [*short["hashes_before"], sha384(short["record_stream_object"]), *short["hashes_after"]]
    start = short["start_running_hash_object"][-HASH_LENGTH:]
    assert after_hashes(start, hashes) == short["end_running_hash_object"][-HASH_LENGTH:]
    assert metadata_hash(short).hex() == file.record.metadata_hash


def test_files_before_format_5_have_no_compact_form() -> None:
    assert [version for version in (1, 2, 5, 6) if can_be_compact(published(version).record)] == [5, 6]


def test_a_transaction_that_is_not_in_the_file_is_not_proved_by_it() -> None:
    file = published()
    with pytest.raises(NotFetched, match="does not have the transaction"):
        compact(file.record, file.content, 7)


def test_a_file_whose_running_hash_is_not_that_of_its_transactions_proves_nothing() -> None:
    file = published()
    other = replace(file.record, previous_hash="11" * HASH_LENGTH)
    with pytest.raises(NotFetched, match="is not that of its transactions"):
        compact(other, file.content, file.proved.consensus_timestamp)
