"""Descriptors of sockets, and of files, whose locks they must not release."""

import fcntl
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mirror.core.processes import operating_system
from mirror.web.grpc import clients

_LOCKING = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'a+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"


def test_duplicate_is_the_same_socket() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        with operating_system.duplicate(listening.fileno()) as duplicate:
            assert duplicate.fileno() != listening.fileno()
            assert duplicate.getsockname() == listening.getsockname()
        assert listening.fileno() in operating_system.open_descriptors()


def test_looking_at_connections_releases_no_lock_on_a_file(
    tmp_path: Path, settings_of: Callable[..., object]
) -> None:
    settings_of({"grpc.maxConnections": 10})
    with (tmp_path / "lock").open("a+") as held:
        fcntl.lockf(held, fcntl.LOCK_SH)
        opened = [socket.socket() for _ in range(20)]
        with pytest.raises(OSError, match="not the descriptor of a socket"):
            operating_system.duplicate(held.fileno())
        clients.close_excess(1, 10)
        for each in opened:
            each.close()
        other = subprocess.run([sys.executable, "-c", _LOCKING, held.name], capture_output=True, text=True)
    assert "BlockingIOError" in other.stderr
