"""The demo network in a backup: its state and last files, from which it continues in another node."""

import hashlib
import io
import os
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import zstandard

from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.processes.files import fsync, write_atomic
from mirror.demo.publish import run
from mirror.demo.publish.publisher import Publisher
from mirror.demo.streams.keys import nodes
from mirror.operations.backup.manifest import DEMO, BackupFile, DamagedBackup, Manifest

# Stream files are compressed already; the ends of an archive are zeros.
_MAX_EXPANSION, _SMALL_BYTES = 100, 1 << 20


def add(folder: Path, manifest: Manifest) -> Manifest:
    """Add the demo network of this node to a backup, if it has one.

    It is read after the database, so that it is never older: what is missing in the database is loaded from
    the files.
    """
    bucket = run.folder()
    if config.value("network") != run.NETWORK or not Publisher(bucket, nodes()).complete:
        return manifest
    content = _packed(bucket)
    write_atomic(folder / DEMO, content)
    file = BackupFile(DEMO, "", 0, len(content), hashlib.sha256(content).hexdigest())
    return replace(manifest, demo=file)


def _packed(bucket: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in Publisher(bucket, nodes()).files():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return zstandard.ZstdCompressor().compress(packed.getvalue())


def check_absent() -> None:
    """Raise OperatorError if this node has a demo network of its own, which a restored one would replace."""
    bucket = run.folder()
    if bucket.exists() and any(bucket.iterdir()):
        raise OperatorError(
            f"There is a demo network in {bucket}: remove that folder, or restore into another one "
            "(SVC_MIRROR_DATA)."
        )


def unpack(folder: Path) -> None:
    """Unpack the demo network of a backup."""
    bucket = run.folder()
    unfinished = bucket.with_name(f"{bucket.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        content = _decompressed(folder / DEMO)
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            # Not extractall: its filters came with Python 3.11.4.
            for entry in archive:
                target = unfinished / entry.name
                if not entry.isreg() or not target.resolve().is_relative_to(unfinished.resolve()):
                    raise DamagedBackup(
                        f"{DEMO} of the backup in {folder} has an entry {entry.name!r}, no file of a demo."
                    )
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    shutil.copyfileobj(archive.extractfile(entry) or io.BytesIO(), file)
    except (zstandard.ZstdError, tarfile.TarError) as error:
        raise DamagedBackup(f"{DEMO} of the backup in {folder} is damaged: {error}.") from error
    # The restore ends after this, so it has to be on the disk.
    for path, _, names in os.walk(unfinished):
        for name in names:
            fsync(Path(path, name))
        fsync(Path(path))
    unfinished.replace(bucket)
    fsync(bucket.parent)


def _decompressed(path: Path) -> bytes:
    data = path.read_bytes()
    most = _MAX_EXPANSION * len(data) + _SMALL_BYTES
    content = zstandard.ZstdDecompressor().stream_reader(data).read(most + 1)
    if len(content) > most:
        raise tarfile.ReadError("it expands to more than the files of a demo do")
    return content
