"""What is loaded, as every process keeps it for a moment."""

from mirror.core.db import coverage


def test_nobody_waits_for_somebody_who_reads_what_is_loaded() -> None:
    coverage.forget()
    with coverage._lock:
        assert coverage.loaded() is coverage.NOBODY_KNOWS
