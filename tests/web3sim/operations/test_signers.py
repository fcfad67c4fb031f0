"""Whose keys count in a call: those of people, and of the contract that calls."""

import pytest

from mirror.core.values.hapi.messages import ContractID, Key, KeyList, ThresholdKey
from tests.web3sim.rows import contract
from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.calls import SERVICE, run
from tests.web3sim.system_contracts.scripts import Step, outcomes, script
from tests.web3sim.system_contracts.token_service.ledger import (
    CODES,
    OTHER_CONTRACT,
    SUCCESS,
    TOKEN,
    TREASURY,
    codes,
    people,
    step,
    token,
)
from tests.web3sim.system_contracts.token_service.test_supply import MINT, service

CALLING, LIBRARY, WITH_ADDRESS = 6001, 6002, 6003
ADDRESS = b"\6" * 20
REFUSED = CODES["INVALID_FULL_PREFIX_SIGNATURE_FOR_PRECOMPILE"]
MINTS = service(MINT, long_zero(TOKEN), 1, [])
DISSOCIATES = step("dissociateToken(address,address)", long_zero(CALLING), long_zero(TOKEN))


def contract_id(number: int) -> Key:
    return Key(contractID=ContractID(contractNum=number))


def delegatable(number: int) -> Key:
    return Key(delegatable_contract_id=ContractID(contractNum=number))


def all_of(*keys: Key) -> Key:
    return Key(keyList=KeyList(keys=keys))


def some_of(threshold: int, *keys: Key) -> Key:
    return Key(thresholdKey=ThresholdKey(threshold=threshold, keys=KeyList(keys=keys)))


PERSON, OTHER = Key(ECDSA_secp256k1=b"\2" * 33), contract_id(OTHER_CONTRACT)
OWN = contract_id(CALLING)
NOT_A_KEY = b"\xff\xff"


def minted_by(ledger, key, *steps):
    """The code of a mint by the last of the contracts that call each other, with this supply key."""
    people(ledger)
    token(ledger, TOKEN, supply_key=key if isinstance(key, bytes) else key.SerializeToString())
    ledger.holding(TOKEN, account=TREASURY)
    contract(ledger, CALLING, script(*steps))
    contract(ledger, LIBRARY, script(MINTS))
    result = run(current(), long_zero(CALLING), b"", gas=5_000_000)
    (found,) = outcomes(result)
    return found


def code(found):
    return codes([found])[0]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (PERSON, SUCCESS),
        (Key(ed25519=b"\1" * 32), SUCCESS),
        (OWN, SUCCESS),
        (delegatable(CALLING), SUCCESS),
        (OTHER, REFUSED),
        (delegatable(OTHER_CONTRACT), REFUSED),
        (all_of(PERSON, OWN), SUCCESS),
        (all_of(PERSON, OTHER), REFUSED),
        (some_of(1, OTHER, PERSON), SUCCESS),
        (some_of(2, OTHER, PERSON, OWN), SUCCESS),
        (some_of(2, OTHER, PERSON), REFUSED),
        (some_of(1, all_of(OTHER, PERSON), all_of(OWN, some_of(1, PERSON))), SUCCESS),
        (NOT_A_KEY, REFUSED),
        (contract_id(-1), REFUSED),
        (contract_id(2**62), REFUSED),
    ],
)
def test_a_contract_signs_with_its_id_and_people_always(build, key, expected):
    assert code(minted_by(build, key, MINTS)) == expected


@pytest.mark.parametrize(
    ("kind", "key", "expected"),
    [
        ("DELEGATECALL", OWN, REFUSED),
        ("DELEGATECALL", delegatable(CALLING), SUCCESS),
        ("DELEGATECALL", contract_id(LIBRARY), REFUSED),
        ("DELEGATECALL", PERSON, SUCCESS),
        ("CALL", OWN, REFUSED),
        ("CALL", delegatable(CALLING), REFUSED),
        ("CALL", contract_id(LIBRARY), SUCCESS),
    ],
)
def test_only_an_id_that_may_be_delegated_signs_for_code_of_others(build, kind, key, expected):
    """And in a plain call only the contract that was called."""
    found = minted_by(build, key, Step(long_zero(LIBRARY), b"", kind))
    (inner,) = outcomes(found.output)
    assert code(inner) == expected


def test_a_contract_is_named_by_its_address_too(build):
    people(build)
    key = Key(contractID=ContractID(evm_address=ADDRESS)).SerializeToString()
    token(build, TOKEN, supply_key=key)
    build.holding(TOKEN, account=TREASURY)
    contract(build, WITH_ADDRESS, script(MINTS), evm_address=ADDRESS)
    (found,) = outcomes(run(current(), ADDRESS, b"", gas=5_000_000))
    assert code(found) == SUCCESS


def test_whoever_calls_agrees_also_through_code_of_others(build):
    """The account of a contract without a key is its own."""
    people(build)
    token(build, TOKEN)
    build.holding(TOKEN, account=CALLING)
    contract(build, CALLING, script(Step(long_zero(LIBRARY), b"", "DELEGATECALL")))
    contract(build, LIBRARY, script(DISSOCIATES))
    state = current()
    (found,) = outcomes(run(state, long_zero(CALLING), b"", gas=5_000_000))
    (delegated,) = outcomes(found.output)
    (plain,) = outcomes(run(state, long_zero(LIBRARY), b"", gas=5_000_000))
    assert (code(delegated), code(plain)) == (SUCCESS, REFUSED)


def test_people_do_not_sign_with_the_id_of_a_contract(build):
    people(build)
    token(build, TOKEN, supply_key=OWN.SerializeToString())
    build.holding(TOKEN, account=TREASURY)
    result = run(current(), SERVICE, MINTS.data)
    assert int.from_bytes(result.output[:32]) == REFUSED
