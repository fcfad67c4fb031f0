"""The threshold signature that a proof of a block has: of its own root hash, or of that of a later block.

Test networks without threshold signatures "sign" by the hash of the root hash, which is compared here and
counts as no signature.
"""

from collections.abc import Sequence
from typing import Any

from ledger.proofs.threshold import identity
from ledger.proofs.threshold.encoding import WrongSignature
from ledger.proofs.threshold.identity import LedgerIdentity
from ledger.stream.block.items import BlockContent
from ledger.stream.block.later_block import signed_root
from ledger.stream.errors import StreamFileError
from ledger.stream.record.item import RecordItem
from ledger.stream.record.record_file import BlockSignature
from mirror.core.values.hapi.transaction_types import NUMBERS
from mirror.core.values.hashes import SHA_384_LENGTH, sha384

#: The kind of proof that holds signatures of a wrapped record file.
RECORD_FILE = "signed_record_file_proof"

_LEDGER_ID_PUBLICATION = NUMBERS["LEDGERIDPUBLICATION"]


def signature_of(
    block: BlockContent, proof: Any, root: bytes, items: Sequence[RecordItem]
) -> BlockSignature | None:
    """Return the signature in a BlockProof, with the root hash that it is of; None if it is of another kind.

    Errors: StreamFileError when it can't be one of this block.
    """
    kind = proof.WhichOneof("proof")
    if kind == "signed_block_proof":
        signed, signature = root, proof.signed_block_proof.block_signature
    elif kind == "block_state_proof":
        state_proof = proof.block_state_proof
        signed, signature = (
            _later_root(block, state_proof, root),
            state_proof.signed_block_proof.block_signature,
        )
    else:
        return None
    if len(signature) == SHA_384_LENGTH and signature != sha384(signed):
        raise unproved(block, f"its proof is not of the root hash of its items, {root.hex()}")
    return BlockSignature(signature, signed, _published_ledger(items))


def unproved(block: BlockContent, cause: str) -> StreamFileError:
    return StreamFileError(block.name, 0, cause, "Fetch it again, or from another node.")


def _later_root(block: BlockContent, proof: Any, root: bytes) -> bytes:
    try:
        return signed_root(proof, root)
    except WrongSignature as error:
        raise unproved(block, str(error)) from error


def _published_ledger(items: Sequence[RecordItem]) -> LedgerIdentity | None:
    for item in items:
        if item.transaction_type == _LEDGER_ID_PUBLICATION and item.successful:
            return identity.of_publication(item.body.ledger_id_publication)
    return None
