"""The simulated network charges what its schedule of fees says, as clients can estimate."""

from bisect import bisect_left
from collections import Counter
from typing import Any

import pytest

from mirror.core.values.hapi.messages import ExchangeRateSet
from mirror.demo.streams.record_files import ComposedTransaction
from mirror.demo.world.fees import EXCHANGE_RATES
from mirror.demo.world.world import World
from network.fees.estimate import MAX_UTILIZATION
from network.queries import simple_fees
from tests.api import Api
from tests.ledger.ingest.load import load
from tests.mirror.demo.lives import items, life

# Their price depends on what the receiver was at the time.
WITHOUT = ("cryptoTransfer", "consensusSubmitMessage")


UNPRICED = 120_000

pytestmark = pytest.mark.usefixtures("ledger_tables")


@pytest.fixture(scope="module")
def history() -> tuple[World, list[Any]]:
    network, blocks = life(5, 40, 40)
    return network.world, blocks


class Client:
    """Estimates fees as the wallet of a person does: at the current exchange rate."""

    def __init__(self, world: World) -> None:
        simple_fees.forget()
        self._api = Api()
        self._rates = {
            change.consensus_timestamp: ExchangeRateSet.FromString(change.contents).currentRate
            for change in world.files[EXCHANGE_RATES].changes
            if change.contents
        }

    def estimate(self, item: ComposedTransaction, busy: int = 0) -> tuple[int, int]:
        """Return tinybars, and how often the usual price they are; the usual fee of what has no price."""
        answer = self._api.request(
            "POST",
            f"/api/v1/network/fees?mode=STATE&high_volume_throttle={busy}",
            item.transaction_bytes,
            content_type="application/protobuf",
        )
        if "Unknown transaction type" in answer.body.decode():
            return UNPRICED, 1
        assert answer.status == 200, answer
        rate = self._rates[max(time for time in self._rates if time < item.consensus_timestamp)]
        estimate = answer.json()
        tinybars = estimate["total"] * rate.hbarEquiv // rate.centEquiv
        return tinybars, estimate["high_volume_multiplier"]


def test_transactions_cost_what_clients_estimate(history):
    world, blocks = history
    load(*blocks)
    client, checked = Client(world), Counter[str]()
    for item in items(blocks):
        kind = item.body.WhichOneof("data")
        if kind in WITHOUT or not item.record.transactionFee or item.body.high_volume:
            continue
        if item.record.HasField("scheduleRef") and kind != "scheduleCreate":
            continue
        if checked[kind] < 3:
            assert client.estimate(item) == (item.record.transactionFee, 1), item.body
            checked[kind] += 1
    assert len(checked) > 8


def test_a_high_volume_costs_a_multiple_that_clients_estimate(history):
    world, blocks = history
    load(*blocks)
    client = Client(world)
    dear = [item for item in items(blocks) if item.body.high_volume]
    assert len(dear) > 3
    for item in dear:
        charged = item.record.transactionFee
        # The busier the network is, the more it asks.
        busy = bisect_left(range(MAX_UTILIZATION), charged, key=lambda each: client.estimate(item, each)[0])
        times = item.record.high_volume_pricing_multiplier
        assert client.estimate(item, busy) == (charged, times // 1000)
        assert times >= 4000
    usual = [item for item in items(blocks) if not item.body.high_volume]
    assert not any(item.record.high_volume_pricing_multiplier for item in usual)
