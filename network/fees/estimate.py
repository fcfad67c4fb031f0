"""The fee of a transaction by a schedule of fees: for the node, the network and the service.

The node's fee has a base and extras for every transaction, the network's is a multiple of it, the service's
depends on the type. What is used beyond the number that an entry includes is charged by the unit.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mirror.values.hapi import FeeExtra, HederaFunctionality
from network.fees.high_volume import FUNCTIONALITIES, ONCE, multiplier
from network.fees.usage import KINDS, Kind, State

# Fees are int64 to all who read them.
_MOST = (1 << 63) - 1


class UnknownType(ValueError):
    """The schedule has no fee for this type of transaction."""


@dataclass(frozen=True, slots=True)
class Charge:
    """An extra of which a transaction uses more than is included."""

    name: str
    fee_per_unit: int
    count: int
    included: int

    @property
    def charged(self) -> int:
        return self.count - self.included

    @property
    def subtotal(self) -> int:
        return min(self.fee_per_unit * self.charged, _MOST)


@dataclass(frozen=True, slots=True)
class Part:
    """A base fee and what is charged on top."""

    base: int = 0
    charges: tuple[Charge, ...] = ()

    @property
    def total(self) -> int:
        return min(self.base + sum(charge.subtotal for charge in self.charges), _MOST)


class Estimate(NamedTuple):
    """The three parts of a fee. `multiplier` is in them already, and in thousandths."""

    node: Part
    network_multiplier: int
    service: Part
    multiplier: int = ONCE

    @property
    def network(self) -> int:
        return min(self.node.total * self.network_multiplier, _MOST)

    @property
    def total(self) -> int:
        return min(self.node.total + self.network + self.service.total, _MOST)


class Schedule:
    """A FeeSchedule, with its entries by type. Errors: ValueError for one without any."""

    def __init__(self, message: Any) -> None:
        self._node, self._network_multiplier = message.node, message.network.multiplier
        self._fees = {extra.name: extra.fee for extra in message.extras}
        self._entries = {entry.name: entry for service in message.services for entry in service.schedule}
        if not self._entries:
            raise ValueError("a schedule of fees without entries")

    def estimate(
        self,
        body: Any,
        *,
        size: int,
        signatures: int,
        state: State = None,
        busy: int = 0,
    ) -> Estimate:
        """Return the fee of a TransactionBody. `size` is that of the whole transaction, in bytes.

        `busy` is how busy the network is with high volumes, in ten-thousandths; without `state` such volumes
        cost as much as others. Errors: UnknownType.
        """
        name = body.WhichOneof("data")
        kind = KINDS.get(name)
        entry = None if kind is None else self._entry(kind.functionality)
        priced = None if entry is None or kind is None else self._entry(kind.prices or kind.functionality)
        if kind is None or entry is None or priced is None:
            raise UnknownType
        if entry.free:
            return Estimate(Part(), 0, Part())
        times = self._multiplier(kind, entry, busy) if body.high_volume and state is not None else ONCE
        scaled = _scaled(times)
        service = self._part(priced, kind.uses(getattr(body, name), state), scaled)
        if entry.node_network_fee_exempt:
            return Estimate(Part(), 0, service, times)
        used = (("PROCESSING_BYTES", size), ("SIGNATURES", signatures))
        return Estimate(self._part(self._node, used, scaled), self._network_multiplier, service, times)

    def _entry(self, functionality: str) -> Any:
        return self._entries.get(HederaFunctionality.Value(functionality))

    def _multiplier(self, kind: Kind, entry: Any, busy: int) -> int:
        if kind.functionality not in FUNCTIONALITIES or not entry.HasField("high_volume_rates"):
            return ONCE
        return multiplier(entry.high_volume_rates, busy)

    def _part(self, entry: Any, used: Iterable[tuple[str, int]], scaled: Callable[[int], int]) -> Part:
        """Charge what is used of the extras that the entry names, beyond what it includes."""
        included: Mapping[int, int] = {each.name: each.included_count for each in entry.extras}
        charges = tuple(
            Charge(name, scaled(self._fees.get(number, 0)), int(count), included[number])
            for name, count in used
            if (number := FeeExtra.Value(name)) in included and count > included[number]
        )
        return Part(scaled(entry.base_fee), charges)


def _scaled(times: int) -> Callable[[int], int]:
    """Return a function that multiplies a fee by so many thousandths."""
    return lambda fee: min(fee * times // ONCE, _MOST)
