"""The multiplier of fees for high volume (HIP-1313): such a transaction costs more the busier the network is.

The utilization of the network is in ten-thousandths (basis points), a multiplier in thousandths.
"""

from bisect import bisect_left
from typing import Any

#: The multiplier of a fee that stays as it is.
ONCE = 1000
MAX_UTILIZATION = 10_000

#: The entries that may have such a price.
FUNCTIONALITIES = frozenset(
    {
        *("CryptoCreate", "CryptoApproveAllowance", "ConsensusCreateTopic", "ScheduleCreate"),
        *("FileCreate", "FileAppend", "ContractCreate", "HookStore"),
        *("TokenCreate", "TokenMint", "TokenAssociateToAccount", "TokenAirdrop", "TokenClaimAirdrop"),
    }
)


def multiplier(rates: Any, busy: int) -> int:
    """Return the multiplier of these high_volume_rates: at least ONCE, at most their maximum."""
    most: int = max(rates.max_multiplier, ONCE)
    if rates.pricing_curve.HasField("piecewise_linear"):
        points = [
            (point.utilization_basis_points, point.multiplier)
            for point in rates.pricing_curve.piecewise_linear.points
        ]
    else:
        points = [(0, ONCE), (MAX_UTILIZATION, most)]
    return min(max(_on_curve(points, busy), ONCE), most)


def _on_curve(points: list[tuple[int, int]], busy: int) -> int:
    """Return the height of the curve: level before its first point and after its last one."""
    after = bisect_left(points, busy, key=lambda point: point[0])
    if after == len(points):
        return points[-1][1] if points else ONCE
    right, above = points[after]
    if after == 0 or right == busy:
        return above
    left, below = points[after - 1]
    risen = abs(above - below) * (busy - left) // (right - left)
    return below + risen if above > below else below - risen
