"""Rewards of long-term stakers while a loader computes the next period."""

import threading

import pytest
from django.db import connection

from tests.ledger.backfills.test_rewards import ACCOUNT, LAST, end, node, pending, staker
from tests.upgrading import put_ahead, upgrade

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_period_that_is_computed_meanwhile_is_counted() -> None:
    node(LAST - 500, LAST)
    staker(1, since=LAST - 500, stake=2 * 10**8)
    node(LAST + 1, LAST + 1, rate=1000)
    put_ahead("long_stakes_rewards")
    loader = connection.copy()
    with loader.cursor() as cursor:
        cursor.execute(
            "begin; update entity_stake set end_stake_period = %s, pending_reward = 8, "
            "timestamp_range = int8range(%s, null) where id = %s",
            [LAST + 1, end(LAST + 1), ACCOUNT],
        )
    committed = threading.Timer(0.4, loader.connection.commit)
    committed.start()

    upgrade()

    committed.join()
    loader.close()
    assert pending() == [364 * 20 + 2000]
