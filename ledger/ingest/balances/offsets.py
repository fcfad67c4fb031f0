"""Which transactions a balance file includes, by its time.

It includes all up to its consensus timestamp plus an offset, which is 0 except for some files of mainnet.
"""

from mirror.core import config

# For these consensus timestamps (ns) the nodes of mainnet wrote files whose time is 53 ns early.
_LATE_FIRST, _LATE_LAST, _LATE = 1_658_420_100_626_004_000, 1_666_368_000_880_378_770, 53


def offset_of(consensus_timestamp: int) -> int:
    """Return the offset of a balance file of the configured network (ns)."""
    if config.value("network") == "mainnet" and _LATE_FIRST <= consensus_timestamp <= _LATE_LAST:
        return _LATE
    return 0
