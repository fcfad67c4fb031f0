"""The files of a backup or a snapshot: rows of one table each, as text of COPY that is compressed by zstd."""

import hashlib
import os
import threading
from pathlib import Path

import zstandard

from mirror.operations.backup.manifest import BackupFile, Manifest, sync
from mirror.operations.backup.pieces import Piece
from mirror.operations.backup.sessions import Session, Stopped

# Where the processor is the limit, a higher level costs more than it saves.
_LEVEL = 1
_BUFFER_BYTES = 1 << 18


def write_rows(
    folder: Path, own: Session, piece: Piece, oldest: int, stopping: threading.Event
) -> BackupFile:
    """Write the rows of a piece to its file, and return the description of it. Errors: Stopped."""
    path = folder / piece.name
    unfinished = path.with_name(f"{path.name}.part")
    compressor, digest = zstandard.ZstdCompressor(level=_LEVEL).compressobj(), hashlib.sha256()
    size = 0
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:

        def put(data: bytes) -> None:
            nonlocal size
            digest.update(data)
            file.write(data)
            size += len(data)

        rows: list[bytes | bytearray | memoryview] = []
        gathered = 0
        with own.cursor() as cursor:
            with cursor.copy(f"copy ({piece.select}) to stdout") as copy:
                for row in copy:
                    rows.append(row)
                    gathered += len(row)
                    if gathered > _BUFFER_BYTES:
                        put(compressor.compress(b"".join(rows)))
                        rows.clear()
                        gathered = 0
                        if stopping.is_set():
                            raise Stopped
            put(compressor.compress(b"".join(rows)))
            put(compressor.flush())
            count = cursor.rowcount
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync(folder)
    return BackupFile(
        path.name,
        piece.table,
        count,
        size,
        digest.hexdigest(),
        piece.leaf,
        piece.number,
        piece.filenode,
        oldest,
    )


def copy_rows(
    folder: Path,
    own: Session,
    description: Manifest,
    file: BackupFile,
    stopping: threading.Event,
    *,
    frozen: bool = False,
) -> None:
    """Copy the rows of a file into its table. Errors: DamagedBackup; Stopped.

    `frozen` where the table was emptied in this transaction: then the rows need no vacuum.
    """
    columns = ", ".join(f'"{column}"' for column in description.tables[file.table].columns)
    options = " with (freeze)" if frozen else ""
    description.check_content(folder, file)
    with (folder / file.name).open("rb") as opened, own.cursor() as cursor:
        try:
            reader = zstandard.ZstdDecompressor().stream_reader(opened)
            with cursor.copy(f'copy "{file.table}" ({columns}) from stdin{options}') as copy:
                while block := reader.read(_BUFFER_BYTES):
                    copy.write(block)
                    if stopping.is_set():
                        raise Stopped
        except zstandard.ZstdError as error:
            raise description.damaged(folder, file, "is damaged") from error
        if cursor.rowcount != file.rows:
            raise description.damaged(folder, file, f"has {cursor.rowcount:,} rows, not {file.rows:,}")
