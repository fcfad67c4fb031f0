"""Documents of any shape: each is refused in words, or shows what the sound one has shown."""

import json
from base64 import b64decode, b64encode
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from ledger.portable_proofs.strict_json import NotProved
from ledger.portable_proofs.verdict import Trusted, Verdict
from ledger.portable_proofs.verification import verify
from ledger.stream.binary_format import after_hashes, hash_object
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import BlockItem, BlockProof, DecodeError
from mirror.core.values.hashes import sha384
from tests.ledger.portable_proofs import block_proofs, record_proofs
from tests.ledger.portable_proofs.changes import misshapen
from tests.ledger.portable_proofs.rehashed import Items, reshaped
from tests.ledger.state_proofs.files import BOOK, published


def told(document: dict[str, Any], trusted: Trusted) -> Verdict | None:
    """What a document shows, None if it is refused; both can be put into words."""
    try:
        verdict = verify(json.dumps(document).encode(), trusted)
    except NotProved as refused:
        assert str(refused).isprintable()
        return None
    assert verdict.lines()
    assert json.dumps(verdict.json())
    return verdict


@pytest.mark.parametrize("kind", ["block", "record file 2", "record file 6"])
def test_a_document_of_another_shape_is_refused_or_shows_the_same(kind: str):
    choose = Random(kind)
    if kind == "block":
        block, times = block_proofs.block_of()
        document, trusted = block_proofs.proof_of(block, times[3]), block_proofs.KNOWN
    else:
        document, trusted = record_proofs.proof_of(published(int(kind[-1]))), Trusted(book=BOOK)
    shown = verify(json.dumps(document).encode(), trusted)

    for _ in range(150):
        changed = misshapen(document, choose)
        for known in (trusted, Trusted()):
            if verdict := told(changed, known):
                assert (verdict.transaction, verdict.hash) == (shown.transaction, shown.hash)


# ITEMS OF ANOTHER SHAPE, UNDER A ROOT HASH THAT IS RIGHT


@pytest.mark.parametrize("kind", ["signed_transaction", "transaction_result", "transaction_output"])
def test_an_item_before_whose_field_is_of_another_wire_type_is_none(kind: str):
    block, times = block_proofs.block_of()
    items = Items.of(block, times[4])
    at = next(index for index in items.before() if items.items[index][0] == kind)
    number = BlockItem.DESCRIPTOR.fields_by_name[kind].number
    lie = items.with_item(at, wire.encode_varint(number << 3 | wire.VARINT) + b"\5")

    with pytest.raises(NotProved, match="before holds other items than transactions and their results"):
        verify(json.dumps(lie.document()).encode(), block_proofs.KNOWN)


@pytest.mark.parametrize("seed", range(3))
def test_items_of_any_shape_in_a_block_are_refused_or_told(seed: int):
    """Whoever names no ledger reads documents of networks that anybody has made up."""
    choose = Random(seed)
    block, times = block_proofs.block_of()
    batch, batch_times = block_proofs.batch_block()
    sound = [Items.of(block, times[3]), Items.of(batch, batch_times[0]), Items.of(batch, batch_times[2])]
    shown = 0

    for number in range(150):
        items = choose.choice(sound)
        for _ in range(choose.randint(1, 2)):
            given = [index for each in items.of_document.values() for index in each]
            at = choose.choice([*given, *items.before()])
            items = items.with_item(at, reshaped(items.items[at][1], choose))
        # To sign takes longer than all of the rest.
        document = items.document(signed=number % 10 == 0)
        if choose.random() < 0.3:
            document["before"] = None
        shown += told(document, Trusted()) is not None

    assert shown > 1


def test_the_proof_of_a_block_of_any_shape_is_refused_or_told():
    choose = Random("proofs")
    block, times = block_proofs.block_of()
    document = block_proofs.proof_of(block, times[3])
    sound = b64decode(document["block"]["proof"])

    for _ in range(100):
        data = reshaped(sound, choose)
        with suppress(DecodeError):
            data = BlockProof.FromString(data).SerializeToString(deterministic=True)
        document["block"]["proof"] = b64encode(data).decode()
        told(document, Trusted())


# RECORD FILES


@pytest.mark.parametrize("version", [5, 6])
def test_a_transaction_of_any_shape_in_a_record_file_is_refused_or_told(version: int):
    choose = Random(version)
    sound = record_proofs.proof_of(published(version))
    data = b64decode(sound["record_file"]["record_stream_object"])
    head, record = data[:12], blobs(data[12:])

    for _ in range(150):
        parts = list(record)
        at = choose.randrange(2)
        parts[at] = reshaped(parts[at], choose)
        changed = head + b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        told(rehashed_file(sound, changed), Trusted())


def blobs(data: bytes) -> list[bytes]:
    """The parts of bytes that have each a length of four bytes before them."""
    parts = []
    while data:
        end = 4 + int.from_bytes(data[:4], "big")
        parts.append(data[4:end])
        data = data[end:]
    return parts


def rehashed_file(sound: dict[str, Any], stream_object: bytes) -> dict[str, Any]:
    """The document with another transaction, and the running hash that this gives."""
    file = sound["record_file"]
    before, after = ([*map(b64decode, file[name])] for name in ("hashes_before", "hashes_after"))
    start = b64decode(file["start_running_hash_object"])[-48:]
    end = after_hashes(start, [*before, sha384(stream_object), *after])
    changed = {
        "record_stream_object": b64encode(stream_object).decode(),
        "end_running_hash_object": b64encode(hash_object(end)).decode(),
    }
    return {**sound, "record_file": {**file, **changed}}


@pytest.mark.parametrize("version", [2, 6])
def test_an_address_book_of_any_shape_is_refused_or_told(version: int):
    choose = Random(version)
    document = record_proofs.proof_of(published(version))

    for _ in range(150):
        document["address_books"] = [b64encode(reshaped(BOOK, choose)).decode()]
        told(document, Trusted())
        told(document, Trusted(book=b64decode(document["address_books"][0]), stakes={0: 1, 1: 1, 2: 1, 3: 1}))
