"""Pauses before a process that died is started again."""

_FIRST, _LONGEST = 1.0, 60.0
# What lives longer has worked: whatever ended it, it works again after a new start.
_YOUNG_SECONDS = 10.0


class Backoff:
    """The pauses of one process: none at first, then growing while it dies young."""

    def __init__(self) -> None:
        self._next = 0.0

    def after(self, lived: float) -> float:
        """Return the pause after a life of so many seconds."""
        if lived > _YOUNG_SECONDS:
            self._next = 0.0
        pause = self._next
        self._next = min(max(pause * 2, _FIRST), _LONGEST)
        return pause
