"""The files of a backup or a snapshot: rows of one table each, as text of COPY that is compressed by gzip."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

import psycopg

from mirror.operations.backup.manifest import BackupFile, Manifest
from mirror.operations.backup.sessions import Session, Task

# Where the processor is the limit, a higher level costs more than it saves.
LEVEL = 1
_READ_BYTES = 1 << 16
_GZIP = 16 + zlib.MAX_WBITS
# Rows have less than a tenth of these bytes, so a small file can't fill the disk.
_MAX_EXPANSION, _SMALL_BYTES = 100, 128 << 20
# pg_dump writes this after the rows of a table. No row looks like it.
_END = b"\\.\n\n\n"


def write_rows(task: Task, own: Session, path: Path, select: str) -> None:
    """Write the rows of a query to a new file. Errors: Stopped."""
    path.touch(0o600)
    with (
        gzip.open(path, "wb", LEVEL) as packed,
        io.BufferedWriter(packed, _READ_BYTES) as file,
        own.cursor() as cursor,
        cursor.copy(f"copy ({select}) to stdout".encode()) as copy,
    ):
        for number, row in enumerate(copy):
            file.write(row)
            if number % 1_000 == 0:
                task.check_stop()


def described(task: Task, name: str, table: str) -> BackupFile:
    """Read a file; return its entry of the manifest. Errors: Stopped."""
    path, rows, end = task.folder / name, 0, b""
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if table:
        for block in _text(path):
            rows += block.count(b"\n")
            end = (end + block[-len(_END) :])[-len(_END) :]
            task.check_stop()
        if end == _END:
            rows -= _END.count(b"\n")
    return BackupFile(name, table, rows, path.stat().st_size, digest)


def copy_rows(task: Task, own: Session, manifest: Manifest, file: BackupFile, *, into: str = "") -> None:
    """Copy the rows of a file into its table, or another one. Errors: DamagedBackup; Stopped."""
    left = _MAX_EXPANSION * file.bytes + _SMALL_BYTES
    columns = ", ".join(f'"{column}"' for column in manifest.tables[file.table].columns)
    with own.cursor() as cursor:
        try:
            with cursor.copy(f'copy "{into or file.table}" ({columns}) from stdin'.encode()) as copy:
                for block in _text(task.folder / file.name):
                    left -= len(block)
                    if left < 0:
                        raise manifest.damaged(task.folder, file, "expands to more than rows do")
                    copy.write(block)
                    task.check_stop()
        except (zlib.error, EOFError) as error:
            raise manifest.damaged(task.folder, file, "is damaged") from error
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            how = f"has rows that the table can't hold ({error.diag.message_primary})"
            raise manifest.damaged(task.folder, file, how) from error
        if cursor.rowcount != file.rows:
            raise manifest.damaged(task.folder, file, f"has {cursor.rowcount:,} rows, not {file.rows:,}")


def _text(path: Path) -> Iterator[bytes]:
    """Yield a file decompressed, in blocks of limited length. Errors: zlib.error, EOFError."""
    decompressor = zlib.decompressobj(_GZIP)
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            yield decompressor.decompress(block)
    if not decompressor.eof:
        raise EOFError
