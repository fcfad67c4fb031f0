"""Proofs of transactions in blocks, as this node makes them: from its tables and where blocks are kept."""

import re
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from ledger.portable_proofs.block_proof import verify
from ledger.portable_proofs.verdict import Trusted
from ledger.state_proofs import NotFetched, block_proofs, fetching, locations, state_proof
from ledger.stream import block_names
from mirror.core.values import timestamp
from tests.api import Api
from tests.build import Build
from tests.ledger.portable_proofs.block_proofs import KNOWN, NODES, block_of, load
from tests.ledger.stream.block.blocks import PAYER, BlockFile, BlockStream
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def kept(tmp_path: Path, settings_of: Any) -> Path:
    """An empty folder where blocks are kept."""
    settings_of(
        {
            "rest.stateproof.enabled": True,
            "importer.downloader.cloudProvider": "LOCAL",
            "importer.dataPath": str(tmp_path / "nothing"),
            "importer.archive.location": str(tmp_path),
            "network": "testnet",
        }
    )
    return tmp_path


@pytest.fixture
def block(build: Build) -> tuple[BlockFile, list[int]]:
    """A block with the rows of loading it, and the times of its transactions."""
    block, times = block_of()
    load(build, block, times)
    return block, times


def change(column: str, value: str | bytes) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"update record_file set {column} = %s", [value])


def keep(block: BlockFile, folder: Path) -> Path:
    path = folder / "testnet" / block_names.in_bucket(block.number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(block.data)
    return path


def test_a_block_that_is_kept_gives_proofs_of_its_transactions(kept, block, api: Api):
    made, times = block
    keep(made, kept)

    answer = api.get(f"/api/v1/transactions/0.0.{PAYER}-1769999999-000004000/stateproof")

    assert answer.status == 200
    proved = verify(answer.json(), KNOWN)
    assert (proved.transaction.consensus_timestamp, proved.number) == (times[3], 7)
    assert verify(answer.json(), Trusted()).rests_on


def test_a_block_whose_bytes_are_in_the_database_needs_no_other_place(kept, block):
    made, times = block
    change("bytes", made.data)

    assert verify(state_proof.document(state_proof.at_time(times[0])), KNOWN).number == 7


def test_of_a_block_that_is_nowhere_any_more_the_places_are_told_to_the_operator_alone(
    kept, block, api, caplog
):
    answer = api.get(f"/api/v1/transactions/0.0.{PAYER}-1769999999-000004000/stateproof")

    assert (answer.status, answer.messages) == (502, ["Block 7 is not kept, nor in its source any more"])
    assert re.search("no folder of the network.*state_proof_not_fetched", caplog.text)
    with pytest.raises(CommandError, match="nor in its source any more: .*no folder of the"):
        call_command("prove", f"0.0.{PAYER}-1769999999-000004000")


def test_a_block_that_can_not_be_read_in_time_is_not_waited_for(kept, block):
    made, times = block
    keep(made, kept)
    file = state_proof.at_time(times[0]).file
    others_done = threading.Event()

    # Others keep every thread that reads.
    with ExitStack() as others:
        others.callback(others_done.set)
        for _ in range(fetching.MAX_DOWNLOADS):
            fetching._pool().submit(others_done.wait)
        with pytest.raises(NotFetched, match="Block 7 could not be read in time"):
            block_proofs.find_block(file, time.monotonic())

    assert block_proofs.find_block(file, time.monotonic() + PATIENCE_SECONDS).serialized == made.content


def test_an_answer_does_not_have_any_number_of_bytes_before_a_transaction(kept, block, api, monkeypatch):
    made, times = block
    change("bytes", made.data)
    url = f"/api/v1/transactions/0.0.{PAYER}-1769999999-000004000/stateproof"
    monkeypatch.setattr("ledger.api.state_proofs._MAX_BYTES_BEFORE", 20)

    answer = api.get(url)

    assert answer.status == 502
    assert "are too many for an answer: take it by `manage.py prove`" in answer.messages[0]
    assert state_proof.document(state_proof.at_time(times[3]))["before"]


def test_another_block_of_the_same_number_proves_nothing_about_this_one(kept, block):
    made, times = block
    keep(made, kept)
    change("hash", "ab" * 48)

    with pytest.raises(NotFetched, match="with another hash than 0xabab"):
        state_proof.document(state_proof.at_time(times[0]))


@pytest.mark.parametrize("spoiled", ["another block", "no block", "not compressed as it says"])
@pytest.mark.parametrize("place", ["the kept place", "the database"])
def test_a_copy_that_is_spoiled_does_not_hide_a_sound_one(kept, block, caplog, place: str, spoiled: str):
    made, times = block
    other, _ = block_of((0, 74, 0))
    wrong = {"another block": other.data, "no block": b"\n\1?", "not compressed as it says": b"\x1f\x8b?"}
    if place == "the database":
        keep(made, kept)
        change("bytes", wrong[spoiled])
    else:
        keep(replace(made, data=wrong[spoiled]), kept)
        keep(made, kept / "nothing" / "streams")

    assert verify(state_proof.document(state_proof.at_time(times[0])), KNOWN).number == 7

    where = place if place == "the database" else f"the folder {kept}"
    assert f"'place': '{where}', 'reason': 'Block 7 " in caplog.text.replace('"', "'")


def test_places_of_blocks_are_opened_once_and_when_they_are_there(kept):
    assert [bucket.location for bucket in locations.block_buckets()] == [f"the folder {kept}"]

    (kept / "nothing" / "streams").mkdir(parents=True)
    opened, again = locations.block_buckets(), locations.block_buckets()

    assert len(opened) == 2
    assert all(one is other for one, other in zip(opened, again, strict=True))


def test_of_spoiled_copies_alone_the_reason_is_told_and_to_the_operator_where_they_are(
    kept, block, api, caplog
):
    made, _ = block
    keep(replace(made, data=b"\n\1?"), kept)

    answer = api.get(f"/api/v1/transactions/0.0.{PAYER}-1769999999-000004000/stateproof")

    assert answer.status == 502
    assert answer.messages[0].startswith(
        "Block 7 is unusable: 0000000000000000007.blk.zstd, byte 0: the content "
    )
    assert re.search(f"the folder {kept} .Block 7 is unusable.*state_proof_not_fetched", caplog.text)


def test_a_transaction_before_that_can_not_be_read_leaves_no_proof(kept, build, api):
    stream = BlockStream(first_block=7, signer=NODES)
    stream.item(signed_transaction=b"\xff\xff")
    at = stream.happen("cryptoTransfer")
    made = stream.block()
    load(build, made, [at], bytes=made.data)

    answer = api.get(f"/api/v1/transactions/0.0.{PAYER}-1769999999-000001000/stateproof")

    reason = "Block 7 is unusable: 0000000000000000007.blk.zstd, byte 0: a transaction in it can't be parsed"
    assert answer.status == 502
    assert answer.messages[0].startswith(reason)
    with pytest.raises(CommandError, match=reason):
        call_command("prove", timestamp.text(at))


def test_a_ledger_that_the_operator_names_and_that_can_not_be_read_is_told_to_him_alone(
    kept, build, api, caplog, settings_of
):
    made, times = block_of()
    load(build, made, times, bytes=made.data)
    with connection.cursor() as cursor:
        cursor.execute("delete from ledger")
    settings_of({"importer.block.initialLedgerIdPublication": str(kept / "none")})

    answer = api.get(f"/api/v1/transactions/0.0.{PAYER}-1769999999-000004000/stateproof")

    message = "There is no proof: what the network has published of its ledger can't be read"
    assert (answer.status, answer.messages) == (502, [message])
    assert re.search("the file .*none can't be read.*state_proof_not_fetched", caplog.text)
    with pytest.raises(CommandError, match=f"{message}: .*the file .*none can't be read: No such file"):
        call_command("prove", timestamp.text(times[0]))
