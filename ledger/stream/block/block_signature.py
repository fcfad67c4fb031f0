"""The threshold signature that a proof of a block has: of its own root hash, or of that of a later block.

Each block's root hash is part of the next one's (HIP-1056). So from the root of a block, with the siblings of
its path, the root of the later block can be computed, which nodes have signed. Test networks without
threshold signatures "sign" by the hash of the root hash, which is compared here and counts as no signature.
"""

from collections.abc import Sequence
from typing import Any

from ledger.stream import ledger_identity
from ledger.stream.block.block_items import BlockContent
from ledger.stream.block.tree import Sibling, climb, leaf_of
from ledger.stream.errors import damaged
from ledger.stream.ledger_identity import WrongSignature
from ledger.stream.record_file import BlockSignature
from ledger.stream.record_item import RecordItem
from mirror.core.values.hapi.transaction_types import NUMBERS
from mirror.core.values.hashes import SHA_384_LENGTH, sha384

#: The kind of proof that holds signatures of a wrapped record file.
RECORD_FILE = "signed_record_file_proof"

_LEDGER_ID_PUBLICATION = NUMBERS["LEDGERIDPUBLICATION"]
_PATHS, _MIN_SIBLINGS = 3, 4
_TIME, _WAY, _ROOT = range(_PATHS)


def signature_of(
    block: BlockContent, proof: Any, root: bytes, items: Sequence[RecordItem]
) -> BlockSignature | None:
    """Return the signature in a BlockProof, None if it is of another kind. Errors: StreamFileError."""
    field = proof.WhichOneof("proof")
    if field == "signed_block_proof":
        signed, signature = root, proof.signed_block_proof.block_signature
    elif field == "block_state_proof":
        signature = proof.block_state_proof.signed_block_proof.block_signature
        try:
            signed = signed_root(proof.block_state_proof, root)
        except WrongSignature as error:
            raise damaged(block.name, str(error)) from error
    else:
        return None
    if len(signature) == SHA_384_LENGTH and signature != sha384(signed):
        raise damaged(block.name, f"its proof is not of the root hash of its items, {root.hex()}")
    published = (
        ledger_identity.identity_from_publication(item.body.ledger_id_publication)
        for item in items
        if item.transaction_type == _LEDGER_ID_PUBLICATION and item.successful
    )
    return BlockSignature(signature, signed, next(published, None))


def signed_root(proof: Any, root: bytes) -> bytes:
    """Return the root hash of the later block that is signed, by a StateProof. Errors: WrongSignature."""
    if len(proof.paths) != _PATHS:
        raise WrongSignature(f"its proof has {len(proof.paths)} paths, not {_PATHS}")
    time, way = proof.paths[_TIME], proof.paths[_WAY]
    if time.WhichOneof("content") != "timestamp_leaf":
        raise WrongSignature("the first path of its proof is not of a time")
    if way.siblings and all(sibling.hash for sibling in way.siblings):
        raise WrongSignature(
            "its proof is of the form before July 2026, which is not read: no step is single"
        )
    if way.WhichOneof("content") != "hash" or way.hash != root:
        raise WrongSignature(f"its proof is one of another block: not of the root hash {root.hex()}")
    if len(way.siblings) < _MIN_SIBLINGS:
        raise WrongSignature(
            f"the way of its proof has {len(way.siblings)} hashes, which is no way to a block"
        )
    if any(path.next_path_index != _ROOT for path in (time, way)):
        raise WrongSignature("the paths of its proof do not meet")
    for sibling in way.siblings:
        if sibling.hash and len(sibling.hash) != SHA_384_LENGTH:
            raise WrongSignature(f"a hash of its proof has {len(sibling.hash)} bytes")
    steps = [Sibling(sibling.hash, sibling.is_left) for sibling in way.siblings]
    steps.append(Sibling(leaf_of(time.timestamp_leaf), True))
    return climb(way.hash, steps)
