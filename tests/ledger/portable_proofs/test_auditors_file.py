"""The one file that checks proofs without this project, on vectors that the project has made."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ledger.portable_proofs.block_proof import verify
from ledger.portable_proofs.strict_json import NotProved
from ledger.stream import ledger_identity
from ledger.stream.signature import verify_proof
from ledger.stream.signature.verify_proof import Rejected
from tests.ledger.portable_proofs.block_proofs import KNOWN, NODES, block_of, proof_of
from tests.ledger.portable_proofs.changes import flipped, values_of
from tests.ledger.stream.block.blocks import BlockStream
from tests.ledger.stream.block.state_proofs import proved_by_later

PUBLICATION = ledger_identity.publication(NODES.identity)
FILE = Path(verify_proof.__file__)


def own() -> list[dict[str, Any]]:
    block, times = block_of()
    return [proof_of(block, at) for at in times]


def later() -> list[dict[str, Any]]:
    stream = BlockStream(signer=NODES)
    at = stream.happen("cryptoTransfer")
    first, *others = stream.block(), stream.block(), stream.block()
    return [proof_of(proved_by_later(first, others, NODES), at)]


VECTORS = [pytest.param(own, id="own signature"), pytest.param(later, id="signature of a later block")]


@pytest.mark.parametrize("documents", VECTORS)
def test_what_the_project_proves_the_file_proves(documents: Any) -> None:
    for document in documents():
        said = verify_proof.verify(document, PUBLICATION)

        assert f"transaction {document['transaction_id']} reached" in said
        assert said.endswith("with a weight of 60 of 60.")


@pytest.mark.parametrize("name", ["own-signature", "later-block"])
def test_the_stored_vectors_are_proved(name: str) -> None:
    folder = Path(__file__).parent / "vectors"
    document = json.loads((folder / f"{name}.json").read_text())
    publication = (folder / "publication.bin").read_bytes()

    assert verify_proof.verify(document, publication).startswith("Proved: ")
    assert verify(document, KNOWN).total == 60


@pytest.mark.parametrize("documents", VECTORS)
@pytest.mark.parametrize("part", ["block", "items", "before"])
def test_what_the_project_refuses_the_file_refuses(documents: Any, part: str) -> None:
    document, choose = documents()[-1], random.Random(part)
    for path in values_of(document[part], (part,)):
        wrong = flipped(document, path, choose)
        with pytest.raises(NotProved):
            verify(wrong, KNOWN)
        with pytest.raises((Rejected, ValueError)):
            verify_proof.verify(wrong, PUBLICATION)


def test_outputs_have_to_follow_the_result() -> None:
    document = own()[3]
    document["items"]["transaction_output"] *= 2

    with pytest.raises(Rejected, match="not those before the transaction_output"):
        verify_proof.verify(document, PUBLICATION)


def test_the_file_runs_alone_with_one_library(tmp_path: Path) -> None:
    proof, publication = tmp_path / "proof.json", tmp_path / "publication.bin"
    document = own()[3]
    proof.write_text(json.dumps(document))
    publication.write_bytes(PUBLICATION)

    command = [sys.executable, "-I", str(FILE), str(proof), str(publication)]
    said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True).stdout

    assert said.startswith(f"Proved: transaction {document['transaction_id']}")
    proof.write_text(json.dumps(document | {"nonce": 1}))
    refused = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert refused.returncode == 1
    assert refused.stderr == "Not proved: the transaction is not the one that the document states.\n"
