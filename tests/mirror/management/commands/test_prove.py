"""manage.py prove and verify-proof: a proof that is written here is believed where there is no node."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ledger.stream.ledger_identity import publication
from mirror.core.values import timestamp
from mirror.demo.publish.block_node import BlockNodeServer
from tests.build import Build
from tests.ledger.portable_proofs.block_proofs import NODES, VALID, batch_block, block_of, load, proof_of
from tests.ledger.state_proofs.files import BOOK, PAYER, Published, published
from tests.ledger.stream.block.blocks import BlockFile
from tests.waiting import PATIENCE_SECONDS

PROJECT = Path(__file__).parents[4]
PAGE = PROJECT / "mirror" / "docs" / "proofs.md"


@pytest.fixture
def folder(tmp_path: Path, settings_of: Callable[..., None]) -> Path:
    settings_of(
        {
            "importer.downloader.cloudProvider": "LOCAL",
            "importer.dataPath": str(tmp_path),
            "importer.archive.location": str(tmp_path / "kept"),
        }
    )
    (tmp_path / "streams").mkdir()
    return tmp_path


@pytest.fixture
def file(build: Build, folder: Path) -> Published:
    """A loaded record file that nodes still publish."""
    file = published()
    file.load(build)
    file.write(folder / "streams")
    return file


@pytest.fixture
def block(build: Build, folder: Path) -> tuple[BlockFile, list[int]]:
    """A loaded block of which the database has the bytes; its third transaction failed."""
    block, times = block_of()
    load(build, block, times, bytes=block.data)
    return block, times


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A file with what the network of blocks has published of its ledger."""
    path = tmp_path / "publication.bin"
    path.write_bytes(publication(NODES.identity))
    return path


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.bin"
    path.write_bytes(BOOK)
    return path


def run(*arguments: str | Path) -> str:
    said = StringIO()
    call_command(*map(str, arguments), stdout=said)
    return said.getvalue()


def test_address_book_proves_a_transaction_of_a_record_file(file, folder, book):
    at = timestamp.text(file.proved.consensus_timestamp)
    proof = folder / "proof.json"

    said = run("prove", at, "--out", proof)

    assert f"(CRYPTOTRANSFER) reached consensus at {at} with the result SUCCESS." in said
    assert f"The proof is in {proof}" in said
    assert (
        run("verify-proof", proof, "--address-book", book)
        == "\n".join(
            line for line in said.splitlines() if "rests on" not in line and "The proof is" not in line
        )
        + "\n"
    )


def test_signatures_count_by_stake_where_stakes_are_known(file, folder, book):
    proof, stakes = folder / "proof.json", folder / "nodes.json"
    run("prove", timestamp.text(file.proved.consensus_timestamp), "--out", proof)
    document = json.loads(proof.read_text())
    nodes = [{"node_id": number, "stake": 10**number} for number in range(4)]
    stakes.write_text(json.dumps({"nodes": nodes}))
    options = (proof, "--address-book", book, "--stakes", stakes, "--json")
    (poor, by_poor), *_, (rich, by_rich) = document["signature_files"].items()

    proof.write_text(json.dumps(document | {"signature_files": {rich: by_rich}}))
    shown = json.loads(run("verify-proof", *options))
    assert (shown["weight"], shown["total_weight"]) == (1000, 1111)

    proof.write_text(json.dumps(document | {"signature_files": {poor: by_poor}}))
    with pytest.raises(CommandError, match="no consensus: signed by 1 of 4 nodes"):
        run("verify-proof", *options)


def test_stakes_may_be_on_several_pages(file, folder, book):
    proof, pages = folder / "proof.json", [folder / "1.json", folder / "2.json"]
    run("prove", timestamp.text(file.proved.consensus_timestamp), "--out", proof)
    pages[0].write_text(json.dumps({"nodes": [{"node_id": number, "stake": 5} for number in range(3)]}))
    options = ("verify-proof", proof, "--address-book", book, "--stakes", pages[0])

    for last in (None, 7):
        with pytest.raises(CommandError, match=r"The stakes: there is none of node 3, .*nodes\?limit=25"):
            run(*options)
        pages[1].write_text(json.dumps({"nodes": [{"node_id": 3, "stake": last}]}))
    assert json.loads(run(*options, "--stakes", pages[1], "--json"))["total_weight"] == 22


def test_unproved_result_in_a_batch_has_its_exit_code(tmp_path, ledger):
    made, times = batch_block()
    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps(proof_of(made, times[1])))

    for options, said in (([], "Not proved: that transaction"), (["--json"], '"proved": false')):
        out = StringIO()
        with pytest.raises(SystemExit) as ended:
            call_command("verify-proof", str(proof), "--ledger", str(ledger), *options, stdout=out)
        assert ended.value.code == 3
        assert said in out.getvalue()


def test_prove_writes_the_document_with_the_same_exit_code(build, folder):
    made, times = batch_block()
    load(build, made, times, bytes=made.data)
    proof, said = folder / "proof.json", StringIO()

    with pytest.raises(SystemExit) as ended:
        call_command("prove", timestamp.text(times[1]), "--out", str(proof), stdout=said)

    assert ended.value.code == 3
    assert "Not proved: that transaction" in said.getvalue()
    assert f"The proof is in {proof}" in said.getvalue()
    assert proof.exists()


def test_known_ledger_proves_a_transaction_of_a_block(block, folder, ledger):
    proof = folder / "proof.json"

    run("prove", f"0.0.{PAYER}@1769999999.000004000", "--out", proof)

    shown = json.loads(run("verify-proof", proof, "--ledger", ledger, "--json"))
    assert shown["proved"]
    assert shown["rests_on"] == []
    assert (shown["block"], shown["transaction_id"]) == (7, f"0.0.{PAYER}-1769999999-000004000")
    assert (shown["weight"], shown["total_weight"]) == (60, 60)


def test_publication_of_the_ledger_can_be_written(block, folder):
    proof, taken = folder / "proof.json", folder / "taken.bin"

    said = run("prove", f"0.0.{PAYER}-1769999999-000004000", "--out", proof, "--publication", taken)

    assert f"What the network has published of its ledger is in {taken}." in said
    assert "rests on" not in run("verify-proof", proof, "--ledger", taken)


def test_without_a_ledger_there_is_no_publication_to_take_away(file, folder):
    at = timestamp.text(file.proved.consensus_timestamp)

    with pytest.raises(CommandError, match="has published no ledger yet"):
        run("prove", at, "--out", folder / "proof.json", "--publication", folder / "taken.bin")


def test_only_transaction_of_an_id_is_proved_if_it_failed(block, folder):
    said = run("prove", f"0.0.{PAYER}-1769999999-000003000", "--out", folder / "proof.json")

    assert "with the result BUSY" in said


def test_of_several_failed_ones_the_time_has_to_be_named(build, block, folder):
    _, times = block
    again = build.transaction(
        times[-1] + 5, payer=PAYER, transfers=(), valid_start_ns=times[2] - VALID, result=11
    )

    with pytest.raises(CommandError, match=f"No transaction .* was successful. .*: .*{again % 10**9:09}"):
        run("prove", f"0.0.{PAYER}-1769999999-000003000")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["0.0.5"], "neither a transaction id, such as .* nor a consensus timestamp"),
        (["0.0.5-1-000000001"], "has no transaction 0.0.5-1-000000001: it never was, was not loaded yet"),
        (["0.0.5-1-000000001", "--nonce", "1", "--scheduled"], "000000001, nonce 1, scheduled: it never was"),
        (["5.000000001"], "This node has no block with 5.000000001"),
        (["1770000000.000000500"], "There is no proof: block 7 has no transaction of 1770000000.000000500"),
    ],
)  # fmt: skip
def test_what_can_not_be_proved_is_told_in_words(block, arguments, reason):
    with pytest.raises(CommandError, match=reason):
        run("prove", *arguments)


def test_block_is_fetched_from_a_block_node(build, folder, settings_of):
    block, times = block_of()
    load(build, block, times)
    settings_of({"importer.downloader.timeout": PATIENCE_SECONDS})

    with BlockNodeServer() as server:
        server.publish(block.number, block.content)
        settings_of({"importer.block.nodes": (f"127.0.0.1:{server.port}",)})
        said = run("prove", timestamp.text(times[0]), "--out", folder / "proof.json")

    assert "It is in block 7" in said


def test_block_node_with_another_block_is_skipped(build, folder, settings_of):
    block, times = block_of()
    other, _ = block_of((0, 74, 0))
    load(build, block, times)
    settings_of({"importer.downloader.timeout": PATIENCE_SECONDS})

    with BlockNodeServer() as liar, BlockNodeServer() as server:
        liar.publish(other.number, other.content)
        server.publish(block.number, block.content)
        nodes = [f"127.0.0.1:{each.port}" for each in (liar, server)]
        settings_of({"importer.block.nodes": (nodes[0],)})
        with pytest.raises(CommandError, match="Block 7 is not kept, nor in its source any more"):
            run("prove", timestamp.text(times[0]), "--out", folder / "proof.json")
        settings_of({"importer.block.nodes": tuple(nodes)})
        said = run("prove", timestamp.text(times[0]), "--out", folder / "proof.json")

    assert "It is in block 7" in said


def test_files_that_are_gone_are_told_with_the_places(file, folder):
    for path in (folder / "streams").rglob("*.rcd*"):
        path.unlink()

    with pytest.raises(CommandError, match="Require at least 1/3 signature files to prove consensus"):
        run("prove", timestamp.text(file.proved.consensus_timestamp))


def test_page_shows_what_the_commands_print(block, folder, ledger, monkeypatch):
    monkeypatch.chdir(folder)
    shown = re.findall(r"\$ manage.py (.*)\n((?:(?!\$ |```).*\n)*)", PAGE.read_text())

    assert [arguments.split()[0] for arguments, _ in shown] == ["prove", "verify-proof"]
    for arguments, said in shown:
        assert without_numbers(run(*arguments.split())) == without_numbers(said)


def without_numbers(text: str) -> str:
    return re.sub(r"[0-9,]+ bytes", "… bytes", re.sub("0x([0-9a-f]+|…)", "0x…", text))


def proof_file(folder: Path, **changes: Any) -> Path:
    made, times = block_of()
    path = folder / "proof.json"
    path.write_text(json.dumps(proof_of(made, times[0]) | changes))
    return path


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--ledger", "{folder}"], "The file .* can't be read: Is a directory"),
        (["--ledger", "{proof}"], "proof.json is no LedgerIdPublicationTransactionBody"),
        (["--stakes", "{proof}"], "--stakes: .* is no answer of /api/v1/network/nodes"),
        (["--ledger-id", "0x12"], "'0x12' is no ledger id, which has 64 hex digits"),
        (["--ledger-id", "12" * 32], "Not proved. The ledger: the proof is one of ledger 0x"),
        (["--ledger", "{ledger}", "--id", "0.0.5@1.1"], "The transaction: the proof is one of 0.0.1001-"),
        (["--ledger", "{ledger}", "--id", "{id}", "--nonce", "1"], "the proof is one of 0.0.1001-"),
        (["--ledger", "{ledger}", "--id", "{id}", "--scheduled"], "the proof is one of 0.0.1001-"),
        (["--nonce", "1"], "--nonce and --scheduled tell which transaction of an --id"),
        (["--address-book", "{ledger}"], "The ledger: the document is of a block"),
    ],
)  # fmt: skip
def test_what_is_not_proved_ends_with_one_sentence(tmp_path, ledger, options, reason):
    proof = proof_file(tmp_path)
    name = json.loads(proof.read_text())["transaction_id"]
    filled = [each.format(folder=tmp_path, proof=proof, ledger=ledger, id=name) for each in options]

    with pytest.raises(CommandError, match=reason):
        run("verify-proof", proof, *filled)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"nodes": [{"node_id": 0, "stake": 1e999}]}', '{"nodes": 5}'],
    ids=["nested", "infinite", "no list"],
)
def test_stakes_that_are_none_end_with_one_sentence(tmp_path, text):
    stakes = tmp_path / "stakes.json"
    stakes.write_text(text)

    with pytest.raises(CommandError, match="--stakes: .* is no answer of /api/v1/network/nodes"):
        run("verify-proof", proof_file(tmp_path), "--stakes", stakes)


def test_program_is_told_the_step_that_fails(tmp_path, ledger):
    said = StringIO()

    with pytest.raises(CommandError):
        call_command("verify-proof", str(proof_file(tmp_path, nonce=5)), "--json", stdout=said)

    assert json.loads(said.getvalue()) == {
        "proved": False,
        "step": "The transaction",
        "cause": "its nonce is 0, not 5",
    }


def test_proof_is_verified_without_a_database(tmp_path, ledger):
    """Who verifies it has no node."""
    arguments = ["manage.py", "verify-proof", str(proof_file(tmp_path)), "--ledger", str(ledger)]
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=PROJECT,
        env={**os.environ, "SVC_MIRROR_DATA": str(tmp_path / "new")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert not (tmp_path / "new").exists(), done.stderr
    assert done.stdout.startswith(f"Proved: transaction 0.0.{PAYER}-")
