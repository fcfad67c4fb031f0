"""What every composed block has: header, footer, root hash, proof, and the serialized form.

And blocks around composed record files (HIP-1193), each after the one before: the first native block of a
network follows the block around the last record file.
"""

import gzip
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from ledger.stream import block_names
from ledger.stream.block.tree import EMPTY_PREFIXED, BlockTree
from ledger.stream.record_formats import V6
from mirror.core.values.hapi import messages, wire
from mirror.core.values.hapi.messages import BlockItem, RecordFileItem, RecordStreamFile, SidecarFile
from mirror.demo.streams import record_files
from mirror.demo.streams.record_files import timestamp

_VERSION_BYTES = 4
_ITEMS = messages.Block.ITEMS_FIELD_NUMBER


@dataclass(frozen=True)
class NativeBlock:
    """One composed block. `content` is the serialized Block, `hash` its root hash."""

    number: int
    content: bytes
    hash: bytes

    def write(self, folder: Path) -> Path:
        """Write the block where it is in a bucket, below the folder of its network, and return its path."""
        path = folder / block_names.in_bucket(self.number)
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


class WrappingComposer:
    """A writer of blocks around record files. `hash` is the root hash of the last one.

    That of the block before the first one is not known.
    """

    def __init__(self) -> None:
        self.hash = EMPTY_PREFIXED

    def block(self, block: record_files.Block) -> NativeBlock:
        """Return the block around the next record file, with the signatures of the nodes."""
        signatures = [
            {"node_id": node.node_id, "signatures_bytes": node.sign(block.file_hash)} for node in block.nodes
        ]
        signed = {"version": V6, "record_file_signatures": signatures}
        return self._framed(block).proved({"signed_record_file_proof": signed})

    def pass_by(self, block: record_files.Block) -> None:
        """Go on to the root hash of the block around the next record file, which signatures don't change."""
        self._framed(block)

    def _framed(self, block: record_files.Block) -> Unproved:
        sidecars = [
            SidecarFile.FromString(gzip.decompress(data)) for _, data in sorted(block.sidecars.items())
        ]
        record_file = RecordFileItem(
            creation_time=timestamp(block.start),
            record_file_contents=RecordStreamFile.FromString(gzip.decompress(block.data)[_VERSION_BYTES:]),
            sidecar_file_contents=sidecars,
        )
        items = [BlockItem(record_file=record_file)]
        framed_block = framed(block, items, self.hash, unknown=EMPTY_PREFIXED, prefixed=True)
        self.hash = framed_block.hash
        return framed_block
