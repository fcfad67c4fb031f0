"""Where the stream stands: the last file loaded, and whether the next one continues it."""

from dataclasses import dataclass

from django.db import connection

from ledger.ingest.errors import IngestError
from ledger.stream import block
from ledger.stream.block_source import LocalBlockFile
from ledger.stream.record_file import RecordFile
from ledger.stream.verified import StreamFile
from mirror import config

NO_HASH = "0" * 96


@dataclass(frozen=True)
class Position:
    """The last file of the stream. Source: the record_file row with the greatest consensus_end.

    `wrapper_hash` is the hash of the block it came wrapped in, if it did; only a running loader knows it.
    """

    name: str
    consensus_end: int
    hash: str
    index: int
    version: int
    wrapper_hash: str | None = None

    @classmethod
    def stored(cls) -> "Position | None":
        with connection.cursor() as cursor:
            cursor.execute(
                "select name, consensus_end, hash, index, version from record_file "
                "order by consensus_end desc limit 1"
            )
            row = cursor.fetchone()
        return cls(*row) if row else None

    @classmethod
    def after(cls, file: RecordFile, index: int) -> "Position":
        wrapper_hash = file.wrapper.hash if file.wrapper else None
        return cls(file.name, file.consensus_end, file.hash, index, file.version, wrapper_hash)

    def includes(self, source: StreamFile) -> bool:
        """Whether a file is loaded already, as far as its name tells."""
        if isinstance(source, LocalBlockFile):
            return source.number <= self.index
        return source.instant <= self.consensus_end

    def require_next(self, file: RecordFile) -> None:
        """The file's previous hash must be the hash of this one, a block's number the next.

        Errors: IngestError.
        """
        self._require_next_number(file)
        self._require_next_wrapper(file)
        if file.version == block.VERSION and self.version != block.VERSION:
            # Where a network goes over to blocks these chain to the one around the last record file.
            last_hash = self.wrapper_hash or ""
        else:
            last_hash = self.hash
        if last_hash in ("", NO_HASH) or file.previous_hash == last_hash:
            return
        raise IngestError(
            file.name,
            "header",
            f"its previous hash {file.previous_hash[:16]}… is not the hash {last_hash[:16]}… of {self.name}, "
            f"the last file loaded (block {self.index}): the chain is broken",
            "Load the files between the two first; if they are lost for good, use --allow-gap.",
        )

    def _require_next_number(self, file: RecordFile) -> None:
        if file.version == block.VERSION and file.block_number != self.index + 1:
            raise IngestError(
                file.name,
                "header",
                f"block {file.block_number} does not follow block {self.index}, the last one loaded",
                "Load the blocks between the two first; if they are lost for good, use --allow-gap.",
            )

    def _require_next_wrapper(self, file: RecordFile) -> None:
        previous_hash = file.wrapper.previous_hash if file.wrapper else None
        if self.wrapper_hash and previous_hash and previous_hash != self.wrapper_hash:
            raise IngestError(
                file.name,
                "footer",
                f"the block it is wrapped in follows {previous_hash[:16]}…, not {self.wrapper_hash[:16]}…, "
                f"the block {self.name} is wrapped in",
                "Load the blocks between the two first; if they are lost for good, use --allow-gap.",
            )


def block_number(file: RecordFile, last: Position | None) -> int:
    """The file's own block number, or, before format 6, one more than the last."""
    if file.block_number is not None:
        return file.block_number
    return last.index + 1 if last else int(config.value("importer.startBlockNumber"))


def provisional_offset(file: RecordFile, last: Position | None) -> int:
    """What block numbers counted before format 6 lack to end where the numbers in the files begin; 0
    normally.
    """
    if last is None or last.version >= 6 or file.block_number is None:
        return 0
    if file.wrapper and file.previous_hash != last.hash:
        # The last number is not a counted one, but that of a wrapped file somewhere before.
        return 0
    return file.block_number - last.index - 1
