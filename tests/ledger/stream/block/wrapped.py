"""Writes blocks that wrap record files of formats 2, 5 and 6."""

from collections.abc import Sequence
from typing import Any

from ledger.stream.block.tree import EMPTY_PREFIXED
from ledger.stream.record_formats import read_record_file
from mirror.core.values.hapi.messages import (
    BlockItem,
    HashObject,
    RecordFileItem,
    RecordStreamFile,
    Transaction,
)
from mirror.demo.streams.record_files import ComposedTransaction
from tests.composing import Composer
from tests.ledger.stream.block.blocks import BlockFile, of_items
from tests.ledger.stream.record_formats import record_v1_v2, record_v5

NUMBER = 5
NAME = "2025-01-01T00_00_00Z.rcd"
PREVIOUS = bytes(range(48))


def transactions(count: int = 3, composer: Composer | None = None) -> list[ComposedTransaction]:
    composer = composer or Composer()
    return [
        composer.crypto_transfer({1001: -5 - number, 1002: 5 + number}, payer=1001) for number in range(count)
    ]


def written(version: int, given: Sequence[ComposedTransaction], previous_hash: bytes = PREVIOUS) -> bytes:
    """The stand-alone file of these transactions, in format 2 or 5."""
    if version == 2:
        return record_v1_v2(2, given, previous_hash)
    return record_v5(given, previous_hash, (0, 3, 0))


def item(composed: ComposedTransaction) -> dict[str, Any]:
    """A RecordStreamItem."""
    return {"transaction": Transaction.FromString(composed.transaction_bytes), "record": composed.record}


def contents(
    version: int,
    given: Sequence[ComposedTransaction],
    *,
    number: int = NUMBER,
    previous_hash: bytes = PREVIOUS,
    **more: Any,
) -> Any:
    """The RecordStreamFile with these transactions; its running hashes are those of format 2 or 5."""
    end = read_record_file(NAME, written(version, given, previous_hash)).hash
    return RecordStreamFile(
        hapi_proto_version={"minor": 3},
        start_object_running_hash=HashObject(algorithm=1, length=48, hash=previous_hash),
        end_object_running_hash=HashObject(algorithm=1, length=48, hash=bytes.fromhex(end)),
        record_stream_items=[item(composed) for composed in given],
        block_number=number,
        **more,
    )


def wrap(
    version: int,
    file: Any,
    *,
    number: int = NUMBER,
    previous: bytes = EMPTY_PREFIXED,
    sidecars: Sequence[Any] = (),
    amendments: Sequence[Any] = (),
    signatures: Sequence[Any] = (),
    proof: Any = None,
) -> BlockFile:
    """The block around a RecordStreamFile; `proof` takes the place of the one with the signatures."""
    record_file = RecordFileItem(
        creation_time={"seconds": 1_735_689_600 + number - NUMBER},
        record_file_contents=file,
        sidecar_file_contents=sidecars,
        amendments=amendments,
    )
    header = {"number": number, "hapi_proto_version": {"minor": 3}, "block_timestamp": {"seconds": 1}}
    footer = {
        "previous_block_root_hash": previous,
        "root_hash_of_all_block_hashes_tree": EMPTY_PREFIXED,
        "start_of_block_state_root_hash": EMPTY_PREFIXED,
    }
    items = [
        BlockItem(block_header=header),
        BlockItem(record_file=record_file),
        BlockItem(block_footer=footer),
    ]
    signed = {"version": version, "record_file_signatures": signatures}
    return of_items(number, items, proof=proof or {"block": number, "signed_record_file_proof": signed})
