"""Stream files to record items: the formats nodes write, without Django."""

from ledger.stream.block.block_file import read_block_file
from ledger.stream.errors import StreamFileError
from ledger.stream.record.formats import read_record_file
from ledger.stream.record.item import RecordItem
from ledger.stream.record.record_file import RecordFile, SidecarMetadata
from ledger.stream.record.sidecar import SidecarFile, read_sidecar_file

__all__ = [
    "RecordFile",
    "RecordItem",
    "SidecarFile",
    "SidecarMetadata",
    "StreamFileError",
    "read_block_file",
    "read_record_file",
    "read_sidecar_file",
]
