"""Proofs of transactions in blocks: their items, the paths to the block's hash, and the nodes' signature.

The block comes from its row, if that has its bytes, from the archive, or from the bucket of blocks. A node
that makes its own demo network has it in a folder.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ledger.archive.location import block_path
from ledger.portable_proofs.compose import Unprovable, compose
from ledger.portable_proofs.documents import BlockProofJson
from ledger.queries.state_proofs import StoredFile, published_ledger
from ledger.state_proofs import NotFetched, fetching, locations
from ledger.stream.block.block_file import content_of_stored, max_block_bytes
from ledger.stream.block.block_items import BlockContent, read_items
from ledger.stream.errors import StreamFileError
from ledger.stream.source.bucket import Bucket
from ledger.stream.source.stream_blocks import latest_folder
from mirror.core import config, logs
from mirror.core.config.setting import OperatorError

log = logs.logger(__name__)


class FoundBlock(NamedTuple):
    """A block with the hash that was loaded: as it was serialized, and what it says."""

    serialized: bytes
    content: BlockContent


def document(consensus_timestamp: int, file: StoredFile, *, max_before: int | None = None) -> BlockProofJson:
    """Return the proof of the transaction of this time (ns) in this block. Errors: NoProof."""
    try:
        ledger = published_ledger()
    except OperatorError as error:
        raise NotFetched(
            "There is no proof: what the network has published of its ledger can't be read", str(error)
        ) from error
    deadline = time.monotonic() + config.value("rest.stateproof.streams.httpOptions.timeout")
    try:
        with fetching.limited(deadline):
            block = find_block(file, deadline)
            return compose(
                block.content, block.serialized, consensus_timestamp, ledger, max_before=max_before
            )
    except StreamFileError as error:
        raise NotFetched(f"Block {file.number} is unusable: {error}") from error
    except Unprovable as error:
        raise NotFetched(f"There is no proof: {error}") from error


def find_block(file: StoredFile, deadline: float) -> FoundBlock:
    """Return the block that was loaded. Errors: NotFetched, also after the deadline."""
    search = _Search(file)
    if file.content is not None and (block := search.read("the database", bytes(file.content))):
        return block
    fetched = fetching.run_until(partial(search.read_buckets, locations.block_buckets()), deadline)
    if fetched is None:
        raise NotFetched(f"Block {file.number} could not be read in time")
    return fetched


class _Search:
    """A search for a block in one location after another: a damaged copy does not hide an intact one."""

    def __init__(self, file: StoredFile) -> None:
        self._file = file
        self._searched: list[str] = []
        # Why the first copy was refused.
        self._problem = ""

    def read(self, location: str, data: bytes) -> FoundBlock | None:
        """Return the block that was stored as `data`, None if it is not the one that was loaded."""
        file = self._file
        try:
            serialized = content_of_stored(file.name, data)
            block = FoundBlock(serialized, read_items(file.name, serialized))
        except StreamFileError as error:
            problem = f"Block {file.number} is unusable: {error}"
        else:
            if block.content.root_hash().hex() == file.block_hash:
                return block
            problem = f"Block {file.number} has been found with another hash than 0x{file.block_hash}"
        log.warning("block_unusable", block=file.number, place=location, reason=problem)
        self._searched.append(f"{location} ({problem})")
        self._problem = self._problem or problem
        return None

    def read_buckets(self, buckets: Sequence[Bucket]) -> FoundBlock:
        """Errors: NotFetched."""
        for bucket in buckets:
            try:
                folder = latest_folder(bucket, config.value("network"))
                data = bucket.read(block_path(folder, self._file.number), max_bytes=max_block_bytes())
            except StreamFileError as error:
                self._searched.append(f"{bucket.location} ({error.cause})")
                continue
            if block := self.read(bucket.location, data):
                return block
        message = self._problem or f"Block {self._file.number} is not kept, nor in its source any more"
        raise NotFetched(message, "; ".join(self._searched) or "no place is configured")
