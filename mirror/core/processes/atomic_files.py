"""Files that are found whole or not at all, whenever the machine loses power."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file that only this user may read, and that has its name only when it is on the disk."""
    unfinished = path.with_name(f"{path.name}.part")
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    fsync(path.parent)


def write_atomic(path: Path, content: bytes) -> None:
    """Write a small file as `atomic_file` does."""
    with atomic_file(path) as file:
        file.write(content)


def fsync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
