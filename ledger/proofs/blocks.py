"""Proofs of transactions in blocks: their items, the paths to the block's hash, and the nodes' signature.

The block comes from its row, if that has its bytes, from the kept place, or from the bucket of blocks. A node
that makes its own demo network has it in a folder.
"""

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from django.conf import settings

from ledger.proofs import fetching
from ledger.proofs.errors import NotFetched
from ledger.queries import ledgers
from ledger.queries.proofs import StoredFile
from ledger.stream.block.original import most_bytes
from ledger.stream.content import content_of
from ledger.stream.errors import StreamFileError
from ledger.stream.kept import layout
from ledger.stream.kept.place import kept_bucket
from ledger.stream.source.bucket import Access, Bucket, open_bucket
from ledger.stream.source.configured import block_bucket
from ledger.stream.transaction_proof.block.compose import Unprovable, compose
from ledger.stream.transaction_proof.block.shape import BlockProofJson
from mirror import config
from mirror.config.errors import OperatorError

# The first bytes of compressed files; a block that is not compressed begins with a field.
_COMPRESSORS = ((b"\x28\xb5\x2f\xfd", "zstd"), (b"\x1f\x8b", "gz"))


class _Name(NamedTuple):
    name: str
    compressor: str


def document(consensus_timestamp: int, file: StoredFile, *, most_before: int | None = None) -> BlockProofJson:
    """Return the proof of the transaction of this time (ns), which is in this block.

    `most_before` is how many bytes of transactions and results before it the proof may have. Errors: NoProof.
    """
    ledger = ledgers.published()
    deadline = time.monotonic() + config.value("rest.stateproof.streams.httpOptions.timeout")
    try:
        with fetching.others_served(deadline):
            block = content(file, deadline)
            made = compose(file.name, block, consensus_timestamp, ledger, most_before=most_before)
    except StreamFileError as error:
        raise NotFetched(f"Block {file.number} is unusable: {error}") from error
    except Unprovable as error:
        raise NotFetched(f"There is no proof: {error}") from error
    if made["block"]["hash"] != f"0x{file.hash}":
        raise NotFetched(f"Block {file.number} has been found with another hash than 0x{file.hash}")
    return made


def content(file: StoredFile, deadline: float) -> bytes:
    """Return the serialized block. Errors: StreamFileError; NotFetched, also after the deadline."""
    if file.content is not None:
        return _decompressed(file.name, bytes(file.content))
    found = fetching.in_time(partial(_found, file), deadline)
    if found is None:
        raise NotFetched(f"Block {file.number} could not be read in time")
    return found


def _found(file: StoredFile) -> bytes:
    looked = []
    for bucket in _buckets():
        try:
            return _decompressed(file.name, _read(bucket, file.number))
        except StreamFileError as error:
            looked.append(f"{bucket.location} ({error.cause})")
    where = "; ".join(looked) or "no place is configured"
    raise NotFetched(f"Block {file.number} is not kept, nor in its source any more", where)


def _buckets() -> Iterator[Bucket]:
    """Yield the places of blocks that can be opened, in the order in which to look."""
    with suppress(OperatorError):
        if kept := kept_bucket():
            yield kept
    demo = settings.DATA_DIR / settings.DEMO_STREAM
    if config.value("network") == "demo" and demo.is_dir():
        yield open_bucket(str(demo), Access())
    with suppress(OperatorError):
        yield block_bucket()


def _read(bucket: Bucket, number: int) -> bytes:
    """Return a block below the latest folder of the network. Errors: StreamFileError."""
    network = re.compile(f"{re.escape(config.value('network'))}(-.+)?")
    folders = [name for name in bucket.folders() if network.fullmatch(name)]
    if not folders:
        raise StreamFileError(bucket.location, 0, "there is no folder of the network")
    return bucket.read(layout.block_path(max(folders), number), most=most_bytes())


def _decompressed(name: str, data: bytes) -> bytes:
    compressor = next((kind for beginning, kind in _COMPRESSORS if data.startswith(beginning)), "")
    return content_of(_Name(name, compressor), data, most=most_bytes())
