"""Writes blocks that are proved by the signature of a later one."""

from collections.abc import Sequence
from typing import Any

from ledger.stream.block.block_items import BlockContent, read_items
from ledger.stream.block.tree import path_in, steps_after
from mirror.core.values.hapi.messages import Block
from mirror.demo.streams.threshold_signer import ThresholdSigner
from tests.ledger.stream.block.blocks import BlockFile, of_items


def proved_by_later(
    block: BlockFile,
    later: Sequence[BlockFile],
    signer: ThresholdSigner,
    *,
    way: Sequence[Any] | None = None,
    start: bytes | None = None,
) -> BlockFile:
    """The block with a proof by the last of the blocks that follow it.

    `way` replaces the hashes between, and `start` the hash that it begins at.
    """
    contents = [read_items("later", each.content) for each in later]
    signed = contents[-1]
    paths = [
        {"timestamp_leaf": time_of(signed), "next_path_index": 2},
        {"hash": start or block.hash, "siblings": way_through(contents) if way is None else way}
        | {"next_path_index": 2},
        {"next_path_index": (1 << 32) - 1},
    ]
    proof = {"paths": paths, "signed_block_proof": {"block_signature": signer.sign(later[-1].hash)}}
    items = [each for each in Block.FromString(block.content).items if not each.HasField("block_proof")]
    return of_items(block.number, items, proof={"block": block.number, "block_state_proof": proof})


def way_through(later: Sequence[BlockContent]) -> list[dict[str, Any]]:
    """The hashes beside the way from a block's root to that of the last of the blocks that follow it."""
    way = [
        {"hash": sibling.hash, "is_left": sibling.is_left}
        for block in later
        for sibling in (*path_in(inputs_of(block), 0), *steps_after(time_of(block)))
    ]
    # The time of the signed block has a path of its own.
    return way[:-1]


def inputs_of(block: BlockContent) -> list[bytes]:
    """What the root hash is of: the hashes of the footer, and the roots of the lists."""
    return [*block.time_and_footer[1], *block.tree.list_roots()]


def time_of(block: BlockContent) -> bytes:
    serialized: bytes = block.header.block_timestamp.SerializeToString()
    return serialized
