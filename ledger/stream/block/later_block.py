"""Proofs of blocks that have no signature of their own: a later block's, and the hashes between (HIP-1056).

Each block's root hash is part of the next one's. So from the root of a block, with the siblings of its path,
the root of the later block can be computed, which nodes have signed.
"""

from typing import Any

from ledger.proofs.threshold.encoding import WrongSignature
from ledger.stream.block.tree import Sibling, climb, leaf_of
from mirror.core.values.hashes import SHA_384_LENGTH

_PATHS, _LEAST_SIBLINGS = 3, 4
_TIME, _WAY, _ROOT = range(_PATHS)


def signed_root(proof: Any, root: bytes) -> bytes:
    """Return the root hash of the later block, which is signed, for the root hash of a block.

    `proof` is a StateProof message. Errors: WrongSignature.
    """
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
    if len(way.siblings) < _LEAST_SIBLINGS:
        raise WrongSignature(
            f"the way of its proof has {len(way.siblings)} hashes, which is no way to a block"
        )
    for path in (time, way):
        if path.next_path_index != _ROOT:
            raise WrongSignature("the paths of its proof do not meet")
    for sibling in way.siblings:
        if sibling.hash and len(sibling.hash) != SHA_384_LENGTH:
            raise WrongSignature(f"a hash of its proof has {len(sibling.hash)} bytes")
    steps = [Sibling(sibling.hash, sibling.is_left) for sibling in way.siblings]
    steps.append(Sibling(leaf_of(time.timestamp_leaf, prefixed=True), True))
    return climb(way.hash, steps, prefixed=True)
