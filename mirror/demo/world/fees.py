"""Fees in the simulated network: those of the schedule of fees in its file, at its exchange rate."""

from contextlib import suppress
from functools import lru_cache
from typing import Any

from mirror.core.values.hapi.messages import ExchangeRateSet, FeeSchedule
from mirror.demo.world.world import World
from network.fees.estimate import ONCE, Estimate, Schedule
from network.fees.genesis import genesis
from network.fees.usage import Facts, UnknownType, named_ids

EXCHANGE_RATES, SIMPLE_FEES = 112, 113

_HBARS, _CENTS = 1, 12  # before there is a file of exchange rates
_USUAL = 120_000  # tinybars, where the schedule has no price


def schedule() -> bytes:
    serialized: bytes = genesis().SerializeToString()
    return serialized


class Price:
    """The price of a TransactionBody in the present state of the world; the usual one if there is no other.

    `busy` is how busy the network is with high volumes, in ten-thousandths.
    """

    def __init__(self, world: World, body: Any, busy: int = 0) -> None:
        self._world = world
        self._estimate: Estimate | None = None
        if (file := world.files.get(SIMPLE_FEES)) is None:
            return
        self._schedule = _schedule(file.contents)
        name = body.WhichOneof("data")
        state = {number: _facts(world, number) for number in named_ids(name, getattr(body, name))}
        with suppress(UnknownType):
            self._estimate = self._schedule.estimate(body, size=0, signatures=0, state=state, busy=busy)

    @property
    def multiplier(self) -> int:
        """Return the multiplier for high volume, in thousandths."""
        return ONCE if self._estimate is None else self._estimate.multiplier

    def tinybars(self, size: int = 0, signatures: int = 0) -> int:
        if self._estimate is None:
            return _USUAL
        resized = self._schedule.resized(self._estimate, size=size, signatures=signatures)
        return tinybars(self._world, resized.total)


def tinybars(world: World, tinycents: int) -> int:
    hbars, cents = exchange_rate(world)
    return tinycents * hbars // cents


def exchange_rate(world: World) -> tuple[int, int]:
    file = world.files.get(EXCHANGE_RATES)
    return (_HBARS, _CENTS) if file is None else _rate(file.changes[-1].contents)


def _facts(world: World, number: int) -> Facts:
    topic, token = world.topics.get(number), world.tokens.issued.get(number)
    if topic is not None:
        return Facts(custom_fees=topic.fee is not None)
    return Facts() if token is None else Facts(not token.fungible, bool(token.fees))


@lru_cache(maxsize=4)
def _schedule(contents: bytes) -> Schedule:
    return Schedule(FeeSchedule.FromString(contents))


@lru_cache(maxsize=4)
def _rate(contents: bytes) -> tuple[int, int]:
    rate = ExchangeRateSet.FromString(contents).currentRate
    return rate.hbarEquiv, rate.centEquiv
