from pathlib import Path

import pytest

from mirror.core.processes.whole_files import write_whole, written_whole


def test_file_that_was_not_written_to_its_end_does_not_replace_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_whole(path, b"before")

    with pytest.raises(InterruptedError), written_whole(path) as file:
        file.write(b"half of wh")
        raise InterruptedError

    assert path.read_bytes() == b"before"


def test_file_is_for_its_own_user_alone(tmp_path: Path) -> None:
    write_whole(tmp_path / "state", b"content")

    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600
