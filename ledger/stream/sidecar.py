"""Sidecar files: compressed SidecarFile messages about contracts, named and hashed by their record file."""

from dataclasses import dataclass, field, replace
from typing import Any

from ledger.stream import record_names
from ledger.stream.content import content_of
from ledger.stream.errors import StreamFileError
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
    """Read the sidecar stored as `data`; `expected_hash` is that of its record file's SidecarMetadata.

    Errors: StreamFileError when it is corrupt or another file than the record file means.
    """
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
