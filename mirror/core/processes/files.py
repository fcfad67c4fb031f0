"""Files: found whole or not at all, whenever the machine loses power; their locks."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from mirror.core.config.setting import OperatorError

_POLL_SECONDS = 0.01


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


def try_lock(file: int | IO[str], seconds: float = 0.0) -> bool:
    """Lock an open file, unless another opening of it stays locked for so long; return whether it is.

    The kernel takes the lock back from a process that dies.

    A process that was stopped may hold a lock for ever, so nothing waits for one without a limit.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
        time.sleep(_POLL_SECONDS)
