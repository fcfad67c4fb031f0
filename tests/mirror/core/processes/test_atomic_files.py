from pathlib import Path

import pytest

from mirror.core.processes.atomic_files import atomic_file, write_atomic


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
