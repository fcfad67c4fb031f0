"""Record files of any format, as they are read, and their sidecars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ledger.stream import record_names
from ledger.stream.content import content_of
from ledger.stream.errors import StreamFileError
from ledger.stream.ledger_identity import LedgerIdentity
from ledger.stream.record_item import HapiVersion, RecordItem
from mirror.core.values import timestamp
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import DecodeError
from mirror.core.values.hashes import sha384


@dataclass(frozen=True, slots=True)
class SidecarFile:
    """A sidecar file, read. `size` is its stored length in bytes, `original` what was stored.

    `records` are pairs of consensus timestamp (ns) and TransactionSidecarRecord, in file order; several may
    belong to one transaction, and some to none.
    """

    name: str
    size: int
    records: list[tuple[int, Any]]
    original: bytes | None = field(default=None, compare=False, repr=False)


def read_sidecar_file(name: str, data: bytes, expected_hash: bytes) -> SidecarFile:
    """Read a sidecar of this hash. Errors: StreamFileError if it is corrupt or another file."""
    parsed = record_names.parse(name)
    if parsed.sidecar is None:
        raise record_names.invalid(name, record_names.SIDECAR)
    sidecar = parse_sidecar(parsed.name, content_of(parsed, data), expected_hash, size=len(data))
    return replace(sidecar, original=data)


def parse_sidecar(name: str, content: bytes, expected_hash: bytes, *, size: int) -> SidecarFile:
    """Parse the content of a sidecar, as above. Errors: StreamFileError."""
    actual_hash = sha384(content)
    if actual_hash != expected_hash:
        raise StreamFileError(
            name,
            0,
            f"its hash is {actual_hash.hex()}, but its record file names {expected_hash.hex()}",
            "Fetch it again, from the node the record file came from.",
        )
    try:
        message = messages.parse(messages.SidecarFile, content)
    except DecodeError as error:
        raise StreamFileError(name, 0, f"the content cannot be parsed ({error})") from error
    records = [(timestamp.to_ns(record.consensus_timestamp), record) for record in message.sidecar_records]
    return SidecarFile(name, size, records)


BLOOM_LENGTH = 256


class SidecarMetadata(NamedTuple):
    """A record file's description of one of its sidecars. `types` are the numbers of enum SidecarType."""

    id: int
    name: str
    hash: bytes
    types: tuple[int, ...]


class BlockTotals(NamedTuple):
    """The gas used in a block, and its log bloom: 256 bytes, or none when no contract ran."""

    gas_used: int
    logs_bloom: bytes


class Wrapper(NamedTuple):
    """The block a record file came wrapped in: its number, and its place in the chain of such blocks.

    `signatures` are pairs of node id and signature of the record file's hash. `unsigned_amendments` is the
    number of amended transactions that this hash is not over.
    """

    number: int
    hash: str
    signatures: tuple[tuple[int, bytes], ...]
    unsigned_amendments: int


class BlockSignature(NamedTuple):
    """A block's threshold signature, the root it is of, and the ledger that the block publishes, if any."""

    signature: bytes
    root: bytes
    ledger: LedgerIdentity | None


class GenesisState(NamedTuple):
    """What a network begins with, by encoded id: messages Account, runtime code, messages File."""

    accounts: dict[int, Any]
    code: dict[int, bytes]
    files: dict[int, Any]


@dataclass(slots=True, kw_only=True)
class RecordFile:
    """A record file, which is a block; or a block of a block stream (version 7).

    Hashes are SHA-384 in lower-case hex: `hash` chains to the next file's `previous_hash` and is the block
    hash; `file_hash` and `metadata_hash` are what nodes sign (None: the format has no metadata hash).
    `block_number` is None before format 6, when blocks are counted. `hapi_version` is None before format 5.
    `size` is the file's stored length in bytes. Times are ns.

    `original` are the bytes that were read, as they are stored; those of a streamed block only if they are to
    be stored, compressed with zstd.

    Only blocks have a software version of their own and rounds; nodes sign their `hash`, and `file_hash` is
    "" and there is a `block_signature`. A record file from a wrapped block brings its `wrapper` and its
    sidecars, and may have a `block_signature` of the block around it. `previous_wrapper_hash` is the hash of
    the block around the record file before, as far as a wrapped block or the first block after all record
    files tells it. `genesis` is what the network began with, if its first block tells it.
    """

    name: str
    version: int
    hapi_version: HapiVersion | None = None
    hash: str
    previous_hash: str
    file_hash: str = ""
    metadata_hash: str | None = None
    block_number: int | None = None
    consensus_start: int
    consensus_end: int
    size: int
    items: Sequence[RecordItem]
    sidecars: Sequence[SidecarMetadata] = ()
    sidecar_files: Mapping[int, SidecarFile] = field(default_factory=dict)
    software_version: HapiVersion | None = None
    round_start: int | None = None
    round_end: int | None = None
    wrapper: Wrapper | None = None
    previous_wrapper_hash: str | None = None
    block_signature: BlockSignature | None = None
    genesis: GenesisState | None = None
    original: bytes | None = field(default=None, compare=False, repr=False)

    @property
    def count(self) -> int:
        return len(self.items)

    @property
    def ordered(self) -> bool:
        """Return whether the first item is the first in time, and the last one the last."""
        if not self.items:
            return True
        first, last = self.items[0].consensus_timestamp, self.items[-1].consensus_timestamp
        return (first, last) == (self.consensus_start, self.consensus_end)

    def block_totals(self) -> BlockTotals:
        """Sum up the gas of top level items that ran a contract, and unite the log blooms of all items."""
        gas_used, bloom, ran_contract = 0, 0, False
        for item in self.items:
            field = item.result_field
            if field is None:
                continue
            result = getattr(item.record, field)
            if item.is_top_level:
                ran_contract = True
                gas_used += result.gasUsed
            if len(result.bloom) == BLOOM_LENGTH:
                bloom |= int.from_bytes(result.bloom, "big")
        return BlockTotals(gas_used, bloom.to_bytes(BLOOM_LENGTH, "big") if ran_contract or bloom else b"")


def times_of(items: Sequence[RecordItem], otherwise: int) -> tuple[int, int]:
    """Return the first and the last consensus timestamp of the items; `otherwise` twice without any."""
    times = [item.consensus_timestamp for item in items]
    return min(times, default=otherwise), max(times, default=otherwise)


def item_failure(file: str, index: int, position: int, error: Exception) -> StreamFileError:
    """Return the error of one item: `index` counts from 0, `position` is where it starts."""
    return StreamFileError(
        file, position, f"transaction {index} of the file is unusable: {error}", "Fetch it from another node."
    )
