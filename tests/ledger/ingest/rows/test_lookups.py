"""Entities found by alias or EVM address."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import Key
from tests.ledger.compose import KEY, Stream, num, receipt
from tests.ledger.ingest.load import load, load_in_any_batches, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

# The generator of secp256k1 as an alias, and the address it stands for.
POINT = bytes.fromhex("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798")
ECDSA_ALIAS = Key(ECDSA_secp256k1=POINT).SerializeToString()
ECDSA_ADDRESS = bytes.fromhex("7e5f4552091a69125d5dfcb7b8c2659029395bdf")
ED25519_ALIAS = Key(**KEY).SerializeToString()
ADDRESS = bytes(range(20))


def create(stream: Stream, **body: Any) -> int:
    record = receipt(accountID=num(1001))
    if address := body.pop("evm_address", None):
        record["evm_address"] = address
    return stream.happen("cryptoCreateAccount", body, record)


def name_as_obtainer(stream: Stream, alias: bytes) -> int:
    """Account 1009 is deleted and what it has goes to the account `alias`."""
    return stream.happen(
        "cryptoDelete", {"deleteAccountID": num(1009), "transferAccountID": {"alias": alias}}
    )


def obtainer() -> int | None:
    ((found,),) = stored("entity", "obtainer_id", "id = 1009")
    return found  # type: ignore[no-any-return]


@pytest.mark.checklist("ID-01", "ID-02", "ID-05", "ID-08")
@pytest.mark.parametrize(
    ("created", "named"),
    [
        ({"alias": ED25519_ALIAS}, ED25519_ALIAS),
        ({"alias": ECDSA_ALIAS}, ECDSA_ALIAS),
        ({"alias": ECDSA_ALIAS}, ECDSA_ADDRESS),
        ({"evm_address": ADDRESS}, ADDRESS),
        ({"evm_address": ECDSA_ADDRESS}, ECDSA_ALIAS),
    ],
    ids=["alias", "ecdsa alias", "its address", "address", "alias of the address"],
)
@pytest.mark.parametrize("together", [True, False])
def test_an_account_is_found_by_alias_and_address(
    created: dict[str, bytes], named: bytes, together: bool
) -> None:
    stream = Stream()
    create(stream, **created)
    blocks = [] if together else [stream.block()]
    name_as_obtainer(stream, named)

    load_in_any_batches(*blocks, stream.block())

    assert obtainer() == 1001


@pytest.mark.checklist("ID-03")
def test_a_long_zero_address_is_the_number_in_it() -> None:
    stream = Stream()
    name_as_obtainer(stream, (1234).to_bytes(20, "big"))

    load(stream.block())

    assert obtainer() == 1234


@pytest.mark.parametrize("together", [True, False])
def test_accounts_named_by_aliases_and_addresses_in_turn_are_each_found(together: bool) -> None:
    stream = Stream()
    for number, body in ((1001, {"alias": ECDSA_ALIAS}), (1002, {"alias": ED25519_ALIAS})):
        stream.happen("cryptoCreateAccount", body, receipt(accountID=num(number)))
    stream.happen("cryptoCreateAccount", {}, receipt(accountID=num(1003)) | {"evm_address": ADDRESS})
    blocks = [] if together else [stream.block()]
    for deleted, alias in (
        (1009, ADDRESS),
        (1010, ED25519_ALIAS),
        (1011, ECDSA_ADDRESS),
        (1012, ECDSA_ALIAS),
    ):
        body = {"deleteAccountID": num(deleted), "transferAccountID": {"alias": alias}}
        stream.happen("cryptoDelete", body)

    load_in_any_batches(*blocks, stream.block())

    assert stored("entity", "id, obtainer_id", "id > 1003") == [
        (1009, 1003), (1010, 1002), (1011, 1001), (1012, 1001),
    ]  # fmt: skip


@pytest.mark.checklist("ID-04")
@pytest.mark.parametrize("together", [True, False])
def test_a_deleted_account_is_not_found(together: bool) -> None:
    stream = Stream()
    create(stream, alias=ED25519_ALIAS)
    stream.happen("cryptoDelete", {"deleteAccountID": num(1001), "transferAccountID": num(2)})
    blocks = [] if together else [stream.block()]
    name_as_obtainer(stream, ED25519_ALIAS)

    load_in_any_batches(*blocks, stream.block())

    assert obtainer() is None


@pytest.mark.checklist("ID-04")
def test_an_account_of_unknown_state_is_not_found() -> None:
    stream = Stream()
    paid = {"paid_staking_rewards": [{"accountID": num(1001), "amount": 1}]}
    stream.happen("cryptoTransfer", record=paid)
    load(stream.block())
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("update entity set alias = %s, deleted = null where id = 1001", [ED25519_ALIAS])
    name_as_obtainer(stream, ED25519_ALIAS)

    load(stream.block())

    assert obtainer() is None


@pytest.mark.checklist("ID-06")
def test_an_unknown_alias_is_logged_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    stream = Stream()
    name_as_obtainer(stream, ED25519_ALIAS)
    name_as_obtainer(stream, ADDRESS)

    load(stream.block())

    assert obtainer() is None
    assert caplog.text.count("account that obtains the rest is not known") == 2
