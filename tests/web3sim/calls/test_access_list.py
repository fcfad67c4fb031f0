"""Access lists of calls (EIP-2930): what they cost, what they save, and how they are written."""

import json
from http import HTTPStatus
from typing import Any

import pytest

from tests.web3sim.engine.world import RETURN_TOP, code
from tests.web3sim.rows import CALLER, asked, contract, long_zero, network
from web3sim.calls import access_list
from web3sim.calls.access_list import ListedAddress
from web3sim.calls.body import InvalidBody, parse
from web3sim.calls.call import answer
from web3sim.engine.interface import AccessList

CALLED, OTHER, SLOT = 5001, 5002, 7
OWN_ADDRESS = bytes([0xAB]) * 20
WORD = f"0x{SLOT:064x}"


@pytest.fixture
def ledger(build):
    network(build)
    return build


def used(entries: AccessList, *, to: bytes = long_zero(CALLED), **given: Any) -> int:
    found = answer(asked(to=to, access_list=entries, **given))
    assert found.status is HTTPStatus.OK, found
    assert found.used is not None
    return found.used


@pytest.mark.parametrize("engine", ["pyevm", "pyevm-blocks"])
def test_a_listed_slot_is_warm_and_paid_for_before_the_call(ledger, engine):
    contract(ledger, CALLED, code(SLOT, "SLOAD", *RETURN_TOP))
    without = used((), engine=engine)
    costs = {
        "its slot": used(((long_zero(CALLED), (SLOT,)),), engine=engine),
        "another slot": used(((long_zero(CALLED), (SLOT + 1,)),), engine=engine),
        "no slot": used(((long_zero(CALLED), ()),), engine=engine),
        "another contract": used(((long_zero(OTHER), (SLOT,)),), engine=engine),
        "twice": used(((long_zero(CALLED), (SLOT, SLOT)),), engine=engine),
    }
    assert {name: gas - without for name, gas in costs.items()} == {
        "its slot": 2_400 + 1_900 + 100 - 2_100,
        "another slot": 2_400 + 1_900,
        "no slot": 2_400,
        "another contract": 2_400 + 1_900,
        "twice": 2_400 + 2 * 1_900 + 100 - 2_100,
    }


@pytest.mark.parametrize("engine", ["pyevm", "pyevm-blocks"])
def test_a_listed_address_is_warm(ledger, engine):
    contract(ledger, CALLED, code(long_zero(CALLER), "BALANCE", *RETURN_TOP))
    without = used((), engine=engine)
    assert used(((long_zero(CALLER), ()),), engine=engine) == without + 2_400 + 100 - 2_600


def test_a_slot_is_warm_in_the_frames_of_a_call_and_after_a_revert(ledger):
    """A frame that reverts takes nothing of the list back."""
    contract(ledger, OTHER, code(SLOT, "SLOAD", 0, 0, "REVERT"))
    call: list[str | int | bytes] = [0, 0, 0, 0, 0, long_zero(OTHER), 50_000, "CALL"]
    contract(ledger, CALLED, code(*call, *call, *RETURN_TOP))
    without = used(())
    listed = used(((long_zero(OTHER), (SLOT,)),))
    # Each frame reads a slot, which is cold again after the first one has reverted.
    assert listed - without == 2_400 + 1_900 + (100 - 2_600) + 2 * (100 - 2_100)


def test_a_contract_is_listed_by_its_number_or_its_own_address(ledger):
    contract(ledger, CALLED, code(SLOT, "SLOAD", *RETURN_TOP), evm_address=OWN_ADDRESS)
    addresses = (long_zero(CALLED), OWN_ADDRESS)
    gas = {used(((address, (SLOT,)),), to=address) for address in addresses}
    assert len(gas) == 1


def test_the_list_counts_in_an_estimate_and_against_the_limit_of_gas(ledger):
    contract(ledger, CALLED, code(SLOT, "SLOAD", *RETURN_TOP))
    entries = ((long_zero(OTHER), tuple(range(100))),)
    estimates = [
        int.from_bytes(answer(asked(to=long_zero(CALLED), access_list=each, estimate=True)).result, "big")
        for each in ((), entries)
    ]
    assert estimates[1] - estimates[0] > 190_000
    (problem,) = answer(asked(to=long_zero(CALLED), access_list=entries, gas=200_000)).problems
    assert problem.message == "INSUFFICIENT_GAS"


def test_a_creation_has_an_access_list(ledger):
    data = code(long_zero(CALLER), "BALANCE", 0, "MSTORE", 0, 0, "RETURN")
    without = used((), to=None, data=data)  # type: ignore[arg-type]
    listed = used(((long_zero(CALLER), ()),), to=None, data=data)  # type: ignore[arg-type]
    assert listed == without + 2_400 + 100 - 2_600


# AS CLIENTS WRITE IT


def parsed(entries: Any) -> tuple[ListedAddress, ...]:
    return parse(json.dumps({"accessList": entries}).encode()).access_list


def test_a_list_is_read_as_clients_of_ethereum_write_it():
    address = f"0x{5001:040x}"
    entries = parsed([{"address": address, "storageKeys": [WORD]}, {"address": address[2:]}])
    assert entries == (ListedAddress(address, (WORD,)), ListedAddress(address[2:]))
    assert access_list.decoded(entries) == ((long_zero(5001), (SLOT,)), (long_zero(5001), ()))
    assert parsed(None) == parsed([]) == ()
    assert parsed([{"address": address, "storageKeys": None}]) == (ListedAddress(address),)


@pytest.mark.parametrize(
    ("entries", "detail"),
    [
        ({}, "JSON parse error: accessList must be a list"),
        (["0x"], "JSON parse error: Each of accessList must be an object"),
        ([{"address": 5}], "JSON parse error: address and storageKeys of accessList must be texts"),
        ([{"address": None}], "JSON parse error: address and storageKeys of accessList must be texts"),
        ([{"storageKeys": [7]}], "JSON parse error: address and storageKeys of accessList must be texts"),
        ([{"storageKeys": WORD}], "JSON parse error: storageKeys must be a list"),
        (
            [{"address": "0x", "storage_keys": []}],
            "JSON parse error: accessList has objects with address and storageKeys, not storage_keys",
        ),
        ([{}], "accessList[0].address field invalid hexadecimal string"),
        ([{"address": "0x12"}], "accessList[0].address field invalid hexadecimal string"),
        (
            [{"address": "00" * 20}, {"address": "00" * 20, "storageKeys": ["0x7", "0x8"]}],
            "accessList[1].storageKeys field invalid hexadecimal string",
        ),
        (
            [{"address": "00" * 20, "storageKeys": [WORD] * 5_000}],
            "accessList field must have at most 5000 addresses and slots",
        ),
        ([{}] * 20_000, "JSON parse error: accessList has more than 35002 names, values and brackets"),
    ],
)
def test_what_is_no_access_list_is_named(entries, detail):
    with pytest.raises(InvalidBody) as refused:
        parsed(entries)
    assert refused.value.details == (detail,)


def test_both_long_lists_have_their_own_length():
    address = "00" * 20
    body = {
        "accessList": [{"address": address, "storageKeys": [WORD] * 4_999}],
        "state_overrides": [{"address": address, "nonce": "0x1"}] * 100,
    }
    call = parse(json.dumps(body).encode())
    assert (len(call.access_list[0].slots), len(call.state_overrides)) == (4_999, 100)
