"""Proofs of blocks that have no signature of their own: a later block's, and the hashes between (HIP-1056).

Each block's root hash is part of the next one's. So from the root of a block, with the hashes beside its way,
the root of the later block can be computed, which nodes have signed.
"""

from typing import Any

from ledger.stream.block.proof.wrong import WrongSignature
from mirror.values.hashes import SHA_384_LENGTH, sha384

_LEAF, _SINGLE, _NODE = b"\0", b"\1", b"\2"
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
    if way.WhichOneof("content") != "hash" or way.hash != root:
        raise WrongSignature(f"its proof is one of another block: not of the root hash {root.hex()}")
    if len(way.siblings) < _LEAST_SIBLINGS:
        raise WrongSignature(
            f"the way of its proof has {len(way.siblings)} hashes, which is no way to a block"
        )
    for path in (time, way):
        if path.next_path_index != _ROOT:
            raise WrongSignature("the paths of its proof do not meet")
    node: bytes = way.hash
    for sibling in way.siblings:
        if not sibling.hash:
            node = sha384(_SINGLE + node)
        elif len(sibling.hash) != SHA_384_LENGTH:
            raise WrongSignature(f"a hash of its proof has {len(sibling.hash)} bytes")
        elif sibling.is_left:
            node = sha384(_NODE + sibling.hash + node)
        else:
            node = sha384(_NODE + node + sibling.hash)
    return sha384(_NODE + sha384(_LEAF + time.timestamp_leaf) + node)
