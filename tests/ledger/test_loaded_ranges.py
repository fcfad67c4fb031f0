"""What is loaded, as every process keeps it for a moment."""

from ledger import loaded_ranges


def test_nobody_waits_for_somebody_who_reads_what_is_loaded() -> None:
    loaded_ranges.forget()
    with loaded_ranges._lock:
        assert loaded_ranges.loaded() is loaded_ranges.UNKNOWN
