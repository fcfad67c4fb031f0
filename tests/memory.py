"""The memory that some work leaves behind."""

import tracemalloc
from collections.abc import Callable


def memory_kept_by(work: Callable[[], None]) -> int:
    """Return how many bytes more are in use after some work than before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        work()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before
