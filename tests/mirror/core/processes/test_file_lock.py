import os
from pathlib import Path

import pytest

from mirror.core.processes.files import try_lock


def test_a_file_is_locked_by_one_opening_of_it(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        assert try_lock(first)
        assert not try_lock(second)
        first.close()
        assert try_lock(second)


def test_what_can_not_be_locked_is_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    os.close(writing)

    with pytest.raises(OSError, match="Bad file descriptor"):
        try_lock(writing)
