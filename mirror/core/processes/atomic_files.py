"""Files that are found whole or not at all, whenever the machine loses power."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mirror.core.config.errors import OperatorError


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


def write_secret(path: Path, secret: str) -> None:
    """Write a line into a file that only this user may read, also if other processes do the same.

    The folder is made if it is missing. Errors: OperatorError.
    """
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(unfinished, f"{secret}\n".encode())
        unfinished.replace(path)
    except OSError as error:
        raise OperatorError(f"The file {path} can't be written: {error.strerror}.") from error


def fsync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
