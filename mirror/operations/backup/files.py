"""The files of a backup or a snapshot: rows of one table each, as text of COPY that is compressed by zstd."""

import hashlib

import psycopg
import zstandard

from mirror.core.processes.atomic_files import atomic_file
from mirror.operations.backup.chunks import Chunk
from mirror.operations.backup.manifest import BackupFile, Manifest
from mirror.operations.backup.sessions import Session, Task

# Where the processor is the limit, a higher level costs more than it saves.
_LEVEL = 1
_BUFFER_BYTES = 1 << 18
# Rows have less than a tenth of these bytes, so a small file can't fill the disk.
_MAX_EXPANSION, _SMALL_BYTES = 100, 128 << 20


def write_rows(task: Task, own: Session, chunk: Chunk, oldest: int) -> BackupFile:
    """Write the rows of a piece to its file, and return its entry of the manifest. Errors: Stopped."""
    path = task.folder / chunk.name
    compressor, digest = zstandard.ZstdCompressor(level=_LEVEL).compressobj(), hashlib.sha256()
    size = 0
    with atomic_file(path) as file:

        def put(data: bytes) -> None:
            nonlocal size
            digest.update(data)
            file.write(data)
            size += len(data)

        rows: list[bytes | bytearray | memoryview] = []
        gathered = 0
        with own.cursor() as cursor:
            with cursor.copy(f"copy ({chunk.select}) to stdout") as copy:
                for row in copy:
                    rows.append(row)
                    gathered += len(row)
                    if gathered > _BUFFER_BYTES:
                        put(compressor.compress(b"".join(rows)))
                        rows.clear()
                        gathered = 0
                        task.check_stop()
            put(compressor.compress(b"".join(rows)))
            put(compressor.flush())
            count = cursor.rowcount
    of_chunk = chunk.leaf, chunk.number, chunk.filenode, oldest
    return BackupFile(path.name, chunk.table, count, size, digest.hexdigest(), *of_chunk)


def copy_rows(
    task: Task, own: Session, manifest: Manifest, file: BackupFile, *, frozen: bool = False, into: str = ""
) -> None:
    """Copy the rows of a file into its table, or another one. Errors: DamagedBackup; Stopped.

    `frozen` where the table was emptied in this transaction: then the rows need no vacuum.
    """
    left = _MAX_EXPANSION * file.bytes + _SMALL_BYTES
    columns = ", ".join(f'"{column}"' for column in manifest.tables[file.table].columns)
    options = " with (freeze)" if frozen else ""
    manifest.check_content(task.folder, file)
    with (task.folder / file.name).open("rb") as opened, own.cursor() as cursor:
        try:
            reader = zstandard.ZstdDecompressor().stream_reader(opened)
            with cursor.copy(f'copy "{into or file.table}" ({columns}) from stdin{options}') as copy:
                while block := reader.read(_BUFFER_BYTES):
                    left -= len(block)
                    if left < 0:
                        raise manifest.damaged(task.folder, file, "expands to more than rows do")
                    copy.write(block)
                    task.check_stop()
        except zstandard.ZstdError as error:
            raise manifest.damaged(task.folder, file, "is damaged") from error
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            how = f"has rows that the table can't hold ({error.diag.message_primary})"
            raise manifest.damaged(task.folder, file, how) from error
        if cursor.rowcount != file.rows:
            raise manifest.damaged(task.folder, file, f"has {cursor.rowcount:,} rows, not {file.rows:,}")
