"""Transactions of an older release list the serials that they moved at once."""

import json
from typing import Any

import pytest
from django.db import connection

from tests.build import START, Build
from tests.upgrading import upgrade

pytestmark = pytest.mark.django_db

TOKEN, OTHER = 1500, 1501
OLD, NEW = 1001, 1002
UPDATE, DISSOCIATE, TRANSFER = 36, 41, 14


def moved(serial: int, token: int = TOKEN, receiver: int | None = NEW) -> dict[str, Any]:
    return {
        "is_approval": False,
        "receiver_account_id": receiver,
        "sender_account_id": OLD,
        "serial_number": serial,
        "token_id": token,
    }


def transfers() -> list[list[dict[str, Any]]]:
    with connection.cursor() as cursor:
        cursor.execute("select nft_transfer::text from transaction order by consensus_timestamp")
        return [json.loads(listed) for (listed,) in cursor.fetchall()]


def test_serials_take_the_place_of_the_number_that_stands_for_all(build: Build) -> None:
    build.nft(TOKEN, 1, account=NEW, since=START + 1)
    build.nft(TOKEN, 2, account=NEW, table="nft_history", since=START + 1, until=START + 3)
    build.nft(TOKEN, 2, account=OLD, since=START + 3)
    build.nft(TOKEN, 3, account=OLD, since=START)
    build.nft(OTHER, 4, account=None, deleted=True, since=START + 2)
    build.transaction(START + 1, type=UPDATE, nft_transfer=[moved(9, OTHER), moved(-1)])
    build.transaction(START + 2, type=DISSOCIATE, nft_transfer=[moved(-1, OTHER, None)])
    build.transaction(START + 3, type=TRANSFER, nft_transfer=[moved(2)])

    (state,) = upgrade("nft_transfers")

    assert transfers() == [[moved(9, OTHER), moved(1), moved(2)], [moved(4, OTHER, None)], [moved(2)]]
    assert state.rows == 2
    assert upgrade("nft_transfers")[0].rows == 0


def test_of_serials_that_are_not_known_none_is_listed(build: Build) -> None:
    build.transaction(START + 1, type=UPDATE, nft_transfer=[moved(-1)])

    upgrade("nft_transfers")

    assert transfers() == [[]]
