"""Progress of a command, in words."""

import pytest

from mirror.core.processes.progress import time_left


@pytest.mark.parametrize(
    ("done", "total", "seconds", "told"),
    [
        (0, 400, 5, ""),
        (39, 400, 5, ""),
        (40, 400, 5, ", about 45 seconds left"),
        (100, 400, 3600, ", about 3 hours left"),
        (400, 400, 9, ", about 0 seconds left"),
        (0, 0, 0, ""),
    ],
)
def test_the_time_left_is_shown_from_a_tenth_on(done: int, total: int, seconds: float, told: str) -> None:
    assert time_left(done, total, seconds) == told
