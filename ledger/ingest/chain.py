"""Where the stream stands: the last file loaded, and whether the next one continues it."""

from dataclasses import dataclass

from django.db import connection

from ledger.ingest.errors import IngestError
from ledger.stream.record_file import RecordFile
from mirror import config

NO_HASH = "0" * 96


@dataclass(frozen=True)
class Position:
    """The last file of the stream. Source: the record_file row with the greatest consensus_end."""

    name: str
    consensus_end: int
    hash: str
    index: int
    version: int

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
        return cls(file.name, file.consensus_end, file.hash, index, file.version)

    def require_next(self, file: RecordFile) -> None:
        """The file's previous hash must be the hash of this one. Errors: IngestError."""
        if self.hash in ("", NO_HASH) or file.previous_hash == self.hash:
            return
        raise IngestError(
            file.name,
            "header",
            f"its previous hash {file.previous_hash[:16]}… is not the hash {self.hash[:16]}… of {self.name}, "
            f"the last file loaded (block {self.index}): the chain is broken",
            "Load the files between the two first; if they are lost for good, use --allow-gap.",
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
    return file.block_number - last.index - 1
