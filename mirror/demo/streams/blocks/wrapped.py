"""Wrapping composed record files in blocks (HIP-1193), each after the one before.

The first native block of a network follows the block around the last record file.
"""

import gzip

from ledger.stream.block.tree import EMPTY_PREFIXED
from ledger.stream.record.formats import V6
from mirror.core.values.hapi.messages import BlockItem, RecordFileItem, RecordStreamFile, SidecarFile
from mirror.demo.streams import record_files
from mirror.demo.streams.blocks.frame import NativeBlock, Unproved, framed
from mirror.demo.streams.record_files import timestamp

_VERSION_BYTES = 4


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
