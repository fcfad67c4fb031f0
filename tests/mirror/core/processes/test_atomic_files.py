import os
import stat
from pathlib import Path

import pytest

from mirror.core.processes.files import atomic_file, write_atomic


def test_file_that_was_not_written_to_its_end_does_not_replace_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_atomic(path, b"before")

    with pytest.raises(InterruptedError), atomic_file(path) as file:
        file.write(b"half of wh")
        raise InterruptedError

    assert path.read_bytes() == b"before"


def test_file_is_for_its_own_user_alone(tmp_path: Path) -> None:
    write_atomic(tmp_path / "state", b"content")

    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600


def test_file_is_on_the_disk_before_it_has_its_name_and_then_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that loses power has the file of before, or the whole new one."""
    path = tmp_path / "state"
    write_atomic(path, b"before")
    flushed: list[tuple[bool, bytes, bytes]] = []
    flush = os.fsync

    def observed(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        if not is_folder:
            assert os.path.samestat(os.fstat(descriptor), (tmp_path / "state.part").stat())
        content = b"" if is_folder else (tmp_path / "state.part").read_bytes()
        flushed.append((is_folder, content, path.read_bytes()))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", observed)
    write_atomic(path, b"the whole of it")

    assert flushed == [(False, b"the whole of it", b"before"), (True, b"", b"the whole of it")]
