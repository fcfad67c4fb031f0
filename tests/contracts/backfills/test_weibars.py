"""Ethereum transactions of an older release get their weibars and lists from their RLP."""

import json
from typing import Any

import pytest
from django.db import connection

from contracts.handlers import ethereum as handler
from mirror.core.values import ethereum
from tests.build import START, insert
from tests.contracts.compose import ethereum_data
from tests.upgrading import put_ahead, upgrade

pytestmark = pytest.mark.django_db

KEY = b"\x01" * 32
LISTS: dict[str, Any] = {
    "access_list": [[b"\xbb" * 20, [KEY]]],
    "authorization_list": [[298, b"\xcc" * 20, 1, 1, KEY, KEY]],
}
COLUMNS = (
    *("gas_price", "max_fee_per_gas", "max_priority_fee_per_gas", "value"),
    *("access_list", "authorization_list"),
)


def of_older_release(at: int, data: bytes, **columns: object) -> None:
    """Store a transaction as the older release did: in tinybars, without lists."""
    insert(
        "ethereum_transaction",
        **{
            "consensus_timestamp": at,
            "data": data,
            "gas_limit": 100_000,
            "gas_price": b"\x47",
            "hash": b"h",
            "max_gas_allowance": 5,
            "nonce": 7,
            "payer_account_id": 1001,
            "signature_r": b"r",
            "signature_s": b"s",
            "type": 2,
            "value": b"\x03",
            "in_weibars": False,
        }
        | columns,
    )


def rows() -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "select gas_price, max_fee_per_gas, max_priority_fee_per_gas, value, access_list::text, "
            "authorization_list::text, in_weibars from ethereum_transaction order by consensus_timestamp"
        )
        return [
            tuple(bytes(each) if isinstance(each, memoryview) else each for each in row)
            for row in cursor.fetchall()
        ]


@pytest.mark.parametrize("kind", [0, 1, 2, 4])
def test_a_row_becomes_what_a_loader_writes(kind: int) -> None:
    data = ethereum_data(kind=kind, value=255 * 10**10 + 1, **LISTS if kind else {})
    of_older_release(START, data)

    (state,) = upgrade("ethereum_weibars")

    written = handler._columns(ethereum.decode(data))
    with connection.cursor() as cursor:
        cursor.execute(f"select {', '.join(COLUMNS)} from ethereum_transaction where in_weibars")
        (row,) = cursor.fetchall()
    stored = {
        name: bytes(value) if isinstance(value, memoryview) else value
        for name, value in zip(COLUMNS, row, strict=True)
    }
    for name in ("access_list", "authorization_list"):
        stored[name] = stored[name] and json.loads(stored[name])
    assert stored == {name: written[name] for name in COLUMNS}
    assert state.rows == 1


def test_71_tinybars_become_the_710_billion_weibars_of_the_rlp() -> None:
    of_older_release(START, ethereum_data(kind=1))

    upgrade("ethereum_weibars")

    assert rows()[0][:4] == (bytes.fromhex("a54f4c3c00"), None, None, bytes.fromhex("06fc23ac00"))


def test_a_row_that_cannot_be_decoded_stays_and_is_not_tried_for_ever() -> None:
    of_older_release(START, b"\x05nonsense")
    before = rows()

    (state,) = upgrade("ethereum_weibars")

    assert rows() == before
    assert (state.rows, state.finished) == (0, True)


def test_rows_of_this_release_are_left_alone() -> None:
    of_older_release(START, ethereum_data(), value=b"\x09", in_weibars=True)
    before = rows()

    upgrade("ethereum_weibars")

    assert rows() == before


def test_of_many_rows_each_is_changed_once() -> None:
    for number in range(450):
        of_older_release(START + number, ethereum_data(value=number * 10**10))

    (state,) = upgrade("ethereum_weibars")

    assert state.rows == 450
    assert [int.from_bytes(bytes(row[3]), "big") for row in rows()] == [n * 10**10 for n in range(450)]


def test_nothing_is_done_in_an_empty_table() -> None:
    put_ahead("ethereum_weibars")

    (state,) = upgrade()

    assert (state.rows, state.share) == (0, 1.0)
