"""The fee of a transaction by a schedule of fees: for the node, the network and the service.

The node's fee has a base and extras for every transaction, the network's is a multiple of it, the service's
depends on the type. Each unit of an extra beyond the number that an entry includes is charged. A busy network
asks for more for transactions of high volume (HIP-1313).
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mirror.core.values.hapi.messages import FeeExtra, HederaFunctionality
from network.fees.usage import KINDS, State, UnknownType, is_waived

# HIGH VOLUME: the utilization of the network is in ten-thousandths, a multiplier in thousandths.

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


# FEES

# Answers have fees as int64.
_MAX_FEE = (1 << 63) - 1


class Charge(NamedTuple):
    """An extra of which a transaction uses more than is included."""

    name: str
    fee_per_unit: int
    used: int
    included: int

    @property
    def charged(self) -> int:
        return self.used - self.included

    @property
    def subtotal(self) -> int:
        return min(self.fee_per_unit * self.charged, _MAX_FEE)


class FeePart(NamedTuple):
    """A part of a fee: its base, the charges for extras, and the sum of both."""

    base: int = 0
    charges: tuple[Charge, ...] = ()
    total: int = 0


class Estimate(NamedTuple):
    """The three parts of a fee, which contain the `multiplier` for high volume (thousandths) already."""

    node: FeePart
    network_multiplier: int
    service: FeePart
    multiplier: int = ONCE

    @property
    def network(self) -> int:
        return min(self.node.total * self.network_multiplier, _MAX_FEE)

    @property
    def total(self) -> int:
        return min(self.node.total + self.network + self.service.total, _MAX_FEE)


_NOTHING = Estimate(FeePart(), 0, FeePart())


class _Price(NamedTuple):
    """The price of an extra: the fee of a unit beyond the number that is included."""

    included: int
    fee: int


class _Entry(NamedTuple):
    """The base fee and the extras of a type, or of the node. `rates` are those of high volumes, if any."""

    base: int
    prices: dict[str, _Price]
    free: bool = False
    node_network_fee_exempt: bool = False
    rates: Any = None


class Schedule:
    """A FeeSchedule, with its entries by type. Errors: ValueError for one without any."""

    def __init__(self, message: Any) -> None:
        fees = {extra.name: extra.fee for extra in message.extras}
        self._node = _Entry(message.node.base_fee, _prices(message.node, fees))
        self._network_multiplier = message.network.multiplier
        self._entries = {
            HederaFunctionality.Name(entry.name): _Entry(
                entry.base_fee,
                _prices(entry, fees),
                entry.free,
                entry.node_network_fee_exempt,
                entry.high_volume_rates if entry.HasField("high_volume_rates") else None,
            )
            for service in message.services
            for entry in service.schedule
            if entry.name in HederaFunctionality.values()
        }
        if not self._entries:
            raise ValueError("a schedule of fees without entries")

    def estimate(
        self, body: Any, *, size: int, signatures: int, state: State = None, busy: int = 0
    ) -> Estimate:
        """Return the fee of a TransactionBody. `size` is that of the whole transaction, in bytes.

        `busy` is how busy the network is with high volumes, in ten-thousandths; without `state` such volumes
        cost as much as others. Errors: UnknownType.
        """
        name = body.WhichOneof("data")
        kind = KINDS.get(name)
        if kind is not None and (kind.is_free or (state is not None and is_waived(body))):
            return _NOTHING
        entry = None if kind is None else self._entries.get(kind.functionality)
        prices = None if kind is None else self._entries.get(kind.prices or kind.functionality)
        if kind is None or entry is None or prices is None:
            raise UnknownType
        if entry.free:
            return _NOTHING
        thousandths = ONCE
        if body.high_volume and state is not None and entry.rates and kind.functionality in FUNCTIONALITIES:
            thousandths = multiplier(entry.rates, busy)
        service = _part(prices, kind.uses(getattr(body, name), state), thousandths)
        if entry.node_network_fee_exempt:
            return Estimate(FeePart(), 0, service, thousandths)
        node = self._for_node(size, signatures, thousandths)
        return Estimate(node, self._network_multiplier, service, thousandths)

    def resized(self, estimate: Estimate, *, size: int, signatures: int) -> Estimate:
        """Return the fee of the same TransactionBody in a transaction of another size."""
        if not estimate.network_multiplier:
            return estimate
        return estimate._replace(node=self._for_node(size, signatures, estimate.multiplier))

    def _for_node(self, size: int, signatures: int, thousandths: int) -> FeePart:
        return _part(self._node, (("PROCESSING_BYTES", size), ("SIGNATURES", signatures)), thousandths)


def _prices(entry: Any, fees: Mapping[int, int]) -> dict[str, _Price]:
    """Return the prices of the extras that an entry names; an extra without a price is free."""
    numbers = FeeExtra.values()
    return {
        FeeExtra.Name(each.name): _Price(each.included_count, fees.get(each.name, 0))
        for each in entry.extras
        if each.name in numbers
    }


def _part(entry: _Entry, uses: Iterable[tuple[str, int]], thousandths: int) -> FeePart:
    """Charge for each extra that the entry names, beyond the number that it includes."""
    charges = []
    base = total = _scaled(entry.base, thousandths)
    for name, count in uses:
        price = entry.prices.get(name)
        if price is not None and count > price.included:
            used = min(int(count), _MAX_FEE)
            charges.append(Charge(name, _scaled(price.fee, thousandths), used, price.included))
            total += charges[-1].subtotal
    return FeePart(base, tuple(charges), min(total, _MAX_FEE))


def _scaled(fee: int, thousandths: int) -> int:
    """Multiply a fee by so many thousandths."""
    return min(fee * thousandths // ONCE, _MAX_FEE)
