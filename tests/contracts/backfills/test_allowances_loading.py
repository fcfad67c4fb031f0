"""Allowances spent by contracts while a loader writes the same allowances."""

import threading

import pytest
from django.db import connection

from tests.build import START, Build
from tests.contracts.backfills.test_allowances import CONTRACT, OWNER, PAYER, allow, left, spend
from tests.upgrading import put_ahead, upgrade

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_allowance_that_is_granted_anew_meanwhile_stays_as_granted(build: Build) -> None:
    allow(build, CONTRACT, 100)
    allow(build, PAYER, 50)
    spend(build, START + 1, 20)
    put_ahead("contract_allowances")
    loader = connection.copy()
    with loader.cursor() as cursor:
        cursor.execute(
            "begin; update crypto_allowance set amount = 30, amount_granted = 30, "
            "timestamp_range = int8range(%s, null) where owner = %s and spender = %s",
            [START + 9, OWNER, CONTRACT],
        )
    committed = threading.Timer(0.4, loader.connection.commit)
    committed.start()

    upgrade()

    committed.join()
    loader.close()
    assert left() == {CONTRACT: 30, PAYER: 70}
