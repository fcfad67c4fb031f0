"""The sockets that this process has open, by their descriptors."""

import os
import socket
import stat
from pathlib import Path

_DESCRIPTORS = Path("/dev/fd")


def open_descriptors() -> list[int]:
    """Return all descriptors that are open, also those of files."""
    return [int(path.name) for path in list(_DESCRIPTORS.iterdir())]


def duplicate(descriptor: int) -> socket.socket:
    """Return the socket of a descriptor with another descriptor, which no other thread closes.

    Errors: OSError, also for a descriptor of a file: closing a duplicate of that would release every record
    lock (fcntl) that this process holds on the file.
    """
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        raise OSError(f"{descriptor} is not the descriptor of a socket")
    copy = os.dup(descriptor)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise
