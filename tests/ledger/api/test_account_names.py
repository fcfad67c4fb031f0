import re
from collections.abc import Callable
from typing import Any

import pytest

from ledger.api.account_names import SPRING_ACCOUNT, account_id, spring_account_id
from mirror.core.rest.answers.errors import Failure, InternalError, InvalidEntityId
from mirror.core.rest.parameters.entity_ids import (
    Alias,
    EvmAddress,
    NotAnEntityId,
    read_account,
    read_alias,
    read_spring_account,
)
from mirror.core.values import entity_id
from tests.build import insert

ADDRESS = bytes.fromhex("ac384c53f03855fa1b3616052f8ba32c6c2a2fec")
LONG_ZERO = "00000000000000000000000000000000000003e9"
KEY_ALIAS = b"\x12\x20" + b"\xa5" * 32
KEY_ALIAS_TEXT = "CIQKLJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJI"
ADDRESS_ALIAS_TEXT = "VQ4EYU7QHBK7UGZWCYCS7C5DFRWCUL7M"


def entity(number: int, **columns: Any) -> int:
    numbers = {"id": number, "num": number, "realm": 0, "shard": 0}
    insert("entity", **numbers, timestamp_range="[1,)", **{"type": "ACCOUNT", "deleted": False} | columns)
    return number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1001", 1001),
        ("0.1001", 1001),
        ("0.0.01001", 1001),
        ("1.2.3", entity_id.encode(1, 2, 3)),
        (LONG_ZERO, 1001),
        (f"0x{LONG_ZERO.upper()}", 1001),
        (f"0.0.{LONG_ZERO}", 1001),
        (ADDRESS.hex(), EvmAddress(ADDRESS)),
        (f"0.0.{ADDRESS.hex()}", EvmAddress(ADDRESS)),
        ("2" * 40, EvmAddress(b"\x22" * 20)),
        ("AA", Alias(b"\x00")),
        (ADDRESS_ALIAS_TEXT, Alias(ADDRESS)),
        (f"0.{ADDRESS_ALIAS_TEXT}", Alias(ADDRESS)),
        (f"0.0.{KEY_ALIAS_TEXT}", Alias(KEY_ALIAS)),
        ("0.0.2222222222222", Alias(bytes.fromhex("d6b5ad6b5ad6b5ad"))),
    ],
)
def test_a_classic_path_names_an_account_by_number_address_or_alias(text: str, expected: object) -> None:
    name = read_account(text)

    assert (type(name), name) == (type(expected), expected)


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "0.x", "0.5.6.7", "1.", ".1", "0x1", "1 ", " 1", "1\n", "٣", "0.-5"),
        *("AB", "A", "AAA", "AAAAAA", "aa", "AA======", "A1", "0.0.0.AA", "1.AA", "0.1.AA", "1.0.AA"),
        *("0x0.0." + LONG_ZERO, "0.0.0x" + LONG_ZERO, LONG_ZERO[1:], LONG_ZERO + "0"),
    ],
)
def test_other_text_names_no_account(text: str) -> None:
    with pytest.raises(NotAnEntityId):
        read_account(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-5", "0.0.-5"),
        ("274877906944", "0.0.274877906944"),
        ("2222222222222", "0.0.2222222222222"),
        ("1024.0.5", "1024.0.5"),
        ("0.65536.5", "0.65536.5"),
        (f"1.2.{LONG_ZERO}", f"1.2.{LONG_ZERO}"),
    ],
)
def test_a_number_out_of_range_is_named_in_full(text: str, shown: str) -> None:
    with pytest.raises(InvalidEntityId) as failure:
        read_account(text)

    assert str(failure.value) == f'Invalid entity ID "{shown}"'


def test_the_configured_shard_and_realm_complete_a_name(settings_of: Callable[..., None]) -> None:
    settings_of({"common.shard": 1, "common.realm": 2})

    assert read_account("3") == entity_id.encode(1, 2, 3)
    assert read_account("4.3") == entity_id.encode(1, 4, 3)
    assert read_account(f"2.{LONG_ZERO}") == entity_id.encode(1, 2, 1001)
    assert read_alias("1.2.AA") == read_alias("2.AA") == b"\x00"
    for foreign in ("0.0.AA", "0.AA", "1.1.AA"):
        with pytest.raises(NotAnEntityId):
            read_alias(foreign)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1001", 1001),
        ("0000.00000.000000001001", 1001),
        ("2.3", entity_id.encode(0, 2, 3)),
        (LONG_ZERO, EvmAddress(bytes.fromhex(LONG_ZERO))),
        (f"0x{ADDRESS.hex().upper()}", EvmAddress(ADDRESS)),
        (f"7.{ADDRESS.hex()}", EvmAddress(ADDRESS)),
        (f"1.2.{ADDRESS.hex()}", EvmAddress(ADDRESS)),
        (KEY_ALIAS_TEXT, Alias(KEY_ALIAS)),
        (f"1.2.{KEY_ALIAS_TEXT}", Alias(KEY_ALIAS)),
        (KEY_ALIAS_TEXT[:-1] + "J", Alias(KEY_ALIAS)),
    ],
)
def test_a_spring_path_names_an_account_likewise(text: str, expected: object) -> None:
    name = read_spring_account(text)

    assert (type(name), name) == (type(expected), expected)


@pytest.mark.parametrize(
    "text",
    [
        *("", "-1", "abc", "0.65536.1", "1024.0.1", "00000.0.1", "274877906944", "9223372036854775807"),
        *("AABBCC22", ADDRESS_ALIAS_TEXT, f"0.0.0x{ADDRESS.hex()}", KEY_ALIAS_TEXT.lower(), "A" * 71),
    ],
)
def test_other_text_names_no_account_in_a_spring_path(text: str) -> None:
    with pytest.raises(NotAnEntityId):
        read_spring_account(text)


def problem(lookup: Any, text: Any) -> tuple[int, str]:
    with pytest.raises(Failure) as failure:
        lookup(text)
    return failure.value.status, str(failure.value)


@pytest.mark.django_db
def test_an_alias_or_address_leads_to_the_account_that_bears_it() -> None:
    entity(1001, alias=KEY_ALIAS)
    entity(1002, alias=ADDRESS, evm_address=ADDRESS)

    assert account_id(KEY_ALIAS_TEXT) == 1001
    assert account_id(ADDRESS_ALIAS_TEXT) == account_id(f"0x{ADDRESS.hex()}") == 1002
    assert spring_account_id(Alias(KEY_ALIAS)) == 1001
    assert spring_account_id(EvmAddress(ADDRESS)) == 1002


@pytest.mark.django_db
def test_a_number_stands_for_itself_even_if_it_is_nobody() -> None:
    assert account_id("9999") == account_id("0x" + f"{9999:040x}") == spring_account_id(9999) == 9999


@pytest.mark.django_db
def test_an_alias_or_address_of_nobody_is_not_found() -> None:
    nobody = "No account found for the given ID"

    assert problem(account_id, KEY_ALIAS_TEXT) == (404, "No account with a matching alias found")
    assert problem(account_id, ADDRESS.hex()) == (404, "Not found")
    assert problem(spring_account_id, Alias(KEY_ALIAS)) == (404, nobody)
    assert problem(spring_account_id, EvmAddress(ADDRESS)) == (404, nobody)


@pytest.mark.django_db
def test_deleted_accounts_are_not_found_by_alias_or_address() -> None:
    entity(1001, alias=KEY_ALIAS, evm_address=ADDRESS, deleted=True)

    assert problem(account_id, KEY_ALIAS_TEXT)[0] == 404
    assert problem(account_id, ADDRESS.hex())[0] == 404
    assert problem(spring_account_id, Alias(KEY_ALIAS))[0] == 404


@pytest.mark.django_db
def test_where_deletion_is_unknown_only_classic_paths_find_by_alias_and_none_by_address() -> None:
    entity(1001, alias=KEY_ALIAS, evm_address=ADDRESS, deleted=None)

    assert account_id(KEY_ALIAS_TEXT) == 1001
    assert problem(account_id, ADDRESS.hex())[0] == 404
    assert problem(spring_account_id, Alias(KEY_ALIAS))[0] == 404
    assert problem(spring_account_id, EvmAddress(ADDRESS))[0] == 404


@pytest.mark.django_db
def test_an_alias_or_address_of_two_accounts_is_our_own_mistake() -> None:
    for number in (1001, 1002):
        entity(number, alias=KEY_ALIAS, evm_address=ADDRESS)

    for text in (KEY_ALIAS_TEXT, ADDRESS.hex()):
        with pytest.raises(InternalError):
            account_id(text)


@pytest.mark.parametrize("text", ["x", "-5", "274877906944", f"9.2.{LONG_ZERO}", "1.AA", "A"])
def test_a_classic_path_that_names_no_account_is_an_invalid_parameter(text: str) -> None:
    assert problem(account_id, text) == (400, "Invalid parameter: idOrAliasOrEvmAddress")


def test_spring_routes_know_only_well_formed_accounts() -> None:
    known = re.compile(SPRING_ACCOUNT)
    for text in (
        "1",
        "0.0.1",
        "99999.1",
        LONG_ZERO,
        f"0x{LONG_ZERO}",
        f"0.0.0x{LONG_ZERO}",
        "AA",
        "0.1.AABBCC22",
    ):
        assert known.fullmatch(text), text
    for text in (
        "abc",
        "-1",
        "0.0.",
        "0..1",
        "0.0.0.1",
        f"0x{LONG_ZERO}0",
        f"0X{LONG_ZERO}",
        "aa",
        "AAAAAA",
        "A",
    ):
        assert not known.fullmatch(text), text
