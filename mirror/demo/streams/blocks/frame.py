"""What every composed block has: header, footer, root hash, proof, and the serialized form."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from ledger.stream.block import names
from ledger.stream.block.tree import BlockTree
from mirror.core.values.hapi import messages, wire
from mirror.demo.streams import record_files
from mirror.demo.streams.record_files import timestamp

_ITEMS = messages.Block.ITEMS_FIELD_NUMBER


@dataclass(frozen=True)
class NativeBlock:
    """One composed block. `content` is the serialized Block, `hash` its root hash."""

    number: int
    content: bytes
    hash: bytes

    def write(self, folder: Path) -> Path:
        """Write the block where it is in a bucket, below the folder of its network, and return its path."""
        path = folder / names.in_bucket(self.number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(zstandard.ZstdCompressor().compress(self.content))
        return path


@dataclass(frozen=True)
class Unproved:
    """The items of a block but its proof, and its root hash."""

    number: int
    items: list[Any]
    hash: bytes

    def proved(self, proof: Mapping[str, Any]) -> NativeBlock:
        """Return the block with these fields of its BlockProof."""
        items = [*self.items, messages.BlockItem(block_proof=messages.BlockProof(block=self.number, **proof))]
        content = b"".join(wire.length_delimited(_ITEMS, item.SerializeToString()) for item in items)
        return NativeBlock(self.number, content, self.hash)


def framed(
    block: record_files.Block, inner: Iterable[Any], previous: bytes, *, unknown: bytes, prefixed: bool
) -> Unproved:
    """Return the block of these items, which follows the block of the root hash `previous`.

    `unknown` stands for the two other hashes of the footer, which composing does not know.
    """
    major, minor, patch = block.hapi_version
    version = messages.SemanticVersion(major=major, minor=minor, patch=patch)
    started, versions = timestamp(block.start), {"hapi_proto_version": version, "software_version": version}
    header = messages.BlockHeader(number=block.number, block_timestamp=started, **versions)
    footer = messages.BlockFooter(
        previous_block_root_hash=previous,
        root_hash_of_all_block_hashes_tree=unknown,
        start_of_block_state_root_hash=unknown,
    )
    items = [messages.BlockItem(block_header=header), *inner, messages.BlockItem(block_footer=footer)]
    tree, hashes = BlockTree(prefixed=prefixed), (previous, unknown, unknown)
    for item in items:
        tree.add(item.WhichOneof("item"), item.SerializeToString())
    root = tree.root(started.SerializeToString(), hashes)
    return Unproved(block.number, items, root)
