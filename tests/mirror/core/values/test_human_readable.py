"""Lengths of time and sizes of data as people read them."""

import pytest

from mirror.core.values import human_readable


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 seconds"), (1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (7_199, "1 hour")]
    + [(172_800, "2 days")],
)
def test_a_length_of_time_has_its_largest_unit(seconds: int, text: str) -> None:
    assert human_readable.duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1,023 bytes"), (2048, "2.0 kB"), (3 * 1024**4, "3.0 TB")],
)
def test_a_size_has_its_largest_unit(count: int, text: str) -> None:
    assert human_readable.byte_size(count) == text
