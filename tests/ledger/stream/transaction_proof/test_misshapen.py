"""Documents of any shape: each is refused in words, or shows what the sound one has shown."""

import json
from random import Random

import pytest

from ledger.stream.transaction_proof.document import NotProved
from ledger.stream.transaction_proof.verdict import Trusted
from ledger.stream.transaction_proof.verification import verify
from tests.ledger.proofs.files import BOOK, published
from tests.ledger.stream.transaction_proof import block_proofs, record_proofs
from tests.ledger.stream.transaction_proof.changes import misshapen


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
            try:
                verdict = verify(json.dumps(changed).encode(), known)
            except NotProved:
                continue
            assert (verdict.transaction, verdict.hash) == (shown.transaction, shown.hash)
