"""Schedules that a call makes, signs and deletes."""

from functools import partial
from typing import Any

import pytest
from bitcurve import PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from eth_abi.abi import decode, encode

from mirror.core.values.hapi.messages import SchedulableTransactionBody, SignatureMap
from mirror.core.values.hapi.result_codes import NAMES
from mirror.core.values.hashes import keccak256
from tests.build import insert
from tests.web3sim.state.states import long_zero
from tests.web3sim.system_contracts.calls import CODES, Calls, words
from tests.web3sim.system_contracts.schedules import (
    BY_CONTRACT,
    CALL,
    CONTRACT,
    DELETED,
    EXECUTED,
    NATIVE,
    NOBODY,
    ON_SIGNATURE,
    OURS,
    PERSON,
    SCHEDULE,
    SIGN,
    TOKEN,
    WITH_PAYER,
    body_of,
    calls,
    creation,
    ledger,
    made,
    parse_body,
    public,
)
from web3sim.engine.interface import Halt, SystemAnswer
from web3sim.state.proxy_code import REDIRECT_FOR_SCHEDULE, SCHEDULE_SERVICE, TOKEN_SERVICE
from web3sim.state.tables.rows import Schedule
from web3sim.system_contracts.contracts import SERVICES
from web3sim.system_contracts.function_signatures import parameters_of, selector_of

__all__ = ["calls", "ledger"]


# CALLS OF CONTRACTS


def test_a_call_is_scheduled_and_its_contract_pays(calls):
    schedule = made(calls, CALL, long_zero(PERSON), 100, 21_064, 7, b"data")

    body = body_of(schedule).contractCall
    assert (body.contractID.contractNum, body.gas, body.amount) == (PERSON, 21_064, 7)
    assert body.functionParameters == b"data"
    assert (schedule.creator_account_id, schedule.payer_account_id) == (CONTRACT, CONTRACT)
    assert (schedule.expiration_time, schedule.wait_for_expiry) == (100 * 10**9, True)
    assert calls.overlay.signatories(schedule.id) == {BY_CONTRACT}


def test_another_account_may_pay(calls):
    later = made(calls, WITH_PAYER, long_zero(PERSON), long_zero(PERSON), 100, 21_000, 0, b"")
    at_once = made(calls, ON_SIGNATURE, bytes(range(20)), long_zero(PERSON), 100, 21_000, 0, b"")
    assert (later.payer_account_id, later.wait_for_expiry) == (PERSON, True)
    assert (at_once.payer_account_id, at_once.wait_for_expiry) == (PERSON, False)
    assert body_of(at_once).contractCall.contractID.evm_address == bytes(range(20))


@pytest.mark.parametrize(
    ("second", "gas", "expected"),
    [
        (0, 21_000, "SCHEDULE_EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME"),
        (5_356_801, 21_000, "SCHEDULE_EXPIRATION_TIME_TOO_FAR_IN_FUTURE"),
        (2**255, 21_000, "SCHEDULE_EXPIRATION_TIME_TOO_FAR_IN_FUTURE"),
        (100, 20_999, "INSUFFICIENT_GAS"),
    ],
)
def test_a_call_that_can_not_be_scheduled_is_refused(calls, second, gas, expected):
    assert calls(CALL, long_zero(PERSON), second, gas, 0, b"").output == words(CODES[expected], 0)


def test_a_payer_has_to_exist(calls):
    answer = calls(WITH_PAYER, long_zero(PERSON), long_zero(999_999), 100, 21_000, 0, b"")
    assert answer.halt is Halt.PRECOMPILE


def test_a_refused_call_is_the_last_that_may_be_scheduled(calls):
    assert calls(CALL, NOBODY, 100, 21_000, 0, b"").output == words(CODES["INVALID_CONTRACT_ID"], 0)
    assert calls(CALL, long_zero(PERSON), 100, 21_000, 0, b"").halt is Halt.NO_SCHEDULING


def test_the_same_is_not_scheduled_twice(calls):
    made(calls, CALL, long_zero(PERSON), 100, 21_000, 7, b"")
    made(calls, CALL, long_zero(PERSON), 100, 21_000, 8, b"")
    answer = calls(CALL, long_zero(PERSON), 100, 21_000, 7, b"")
    assert answer.output == words(CODES["IDENTICAL_SCHEDULE_ALREADY_CREATED"], 0)


@pytest.mark.parametrize(
    ("second", "gas", "expected"),
    [(100, 21_000, True), (0, 21_000, False), (5_356_801, 1, False), (100, 2**255, True)],
)
def test_there_is_room_for_calls_within_limits(calls, second, gas, expected):
    assert calls("hasScheduleCapacity(uint256,uint256)", second, gas).output == words(int(expected))


# TOKENS


def test_the_creation_of_a_token_is_scheduled(calls):
    schedule = made(calls, NATIVE, TOKEN_SERVICE, creation(), long_zero(PERSON))

    body = body_of(schedule).tokenCreation
    assert (body.name, body.symbol, body.treasury.accountNum) == ("Gold", "GLD", PERSON)
    assert (body.initialSupply, body.decimals, body.maxSupply, body.supplyType) == (5, 2, 9, 1)
    assert body.autoRenewPeriod.seconds == 7_776_000
    assert (schedule.payer_account_id, schedule.wait_for_expiry) == (PERSON, False)


def test_the_change_of_a_token_is_scheduled(calls):
    signature = "updateTokenKeys(address,TokenKey[])"
    keys = [(1, (False, NOBODY, bytes(32), b"", NOBODY))]
    data = selector_of(signature) + encode(parameters_of(signature), (long_zero(TOKEN), keys))
    body = body_of(made(calls, NATIVE, TOKEN_SERVICE, data, long_zero(PERSON))).tokenUpdate
    assert (body.token.tokenNum, body.adminKey.ed25519) == (TOKEN, bytes(32))


def test_nothing_else_is_scheduled(calls):
    answer = calls(NATIVE, SCHEDULE_SERVICE, creation(), long_zero(PERSON))
    assert (answer.reverted, answer.output) == (True, b"INVALID_CONTRACT_ID")
    assert calls(NATIVE, TOKEN_SERVICE, bytes.fromhex("12345678"), long_zero(PERSON)) == SystemAnswer()
    assert calls(NATIVE, TOKEN_SERVICE, b"", long_zero(PERSON)).halt is Halt.PRECOMPILE


def test_what_can_not_be_scheduled_is_found_before_a_static_frame_halts(calls):
    static = partial(calls, static=True)
    assert static(NATIVE, TOKEN_SERVICE, bytes.fromhex("12345678"), long_zero(PERSON)) == SystemAnswer()
    assert static(NATIVE, TOKEN_SERVICE, creation(), long_zero(PERSON)).halt is Halt.PRECOMPILE
    answer = static(NATIVE, SCHEDULE_SERVICE, creation(), long_zero(PERSON))
    assert (answer.reverted, answer.child, answer.gas) == (True, "INVALID_CONTRACT_ID", 10**7)
    answer = static("authorizeSchedule(address)", long_zero(TOKEN))
    assert (answer.reverted, answer.child, answer.gas) == (True, "INVALID_SCHEDULE_ID", 10**7)


INFO = "updateTokenInfo(address,HederaTokenV3)"


def info_change(token: int, treasury: bytes, **changes: Any) -> bytes:
    """A change of the name, treasury, and renewal account of a token."""
    members = {
        "name": "New",
        "symbol": "",
        "treasury": treasury,
        "memo": "",
        "finite": False,
        "max_supply": 0,
    }
    members |= {"freeze_default": False, "keys": [], "expiry": (0, NOBODY, 0)} | changes
    return selector_of(INFO) + encode(parameters_of(INFO), (long_zero(token), tuple(members.values())))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (info_change(TOKEN, long_zero(PERSON)), None),
        # A scheduled change has account 0 as its treasury, which a call leaves unchanged.
        (info_change(TOKEN, NOBODY), b"UNRESOLVABLE_REQUIRED_SIGNERS"),
        (info_change(TOKEN, bytes([7]) * 20), b"UNRESOLVABLE_REQUIRED_SIGNERS"),
        (info_change(9999, long_zero(PERSON)), b"UNRESOLVABLE_REQUIRED_SIGNERS"),
        (
            info_change(TOKEN, long_zero(PERSON), expiry=(0, long_zero(9999), 0)),
            b"UNRESOLVABLE_REQUIRED_SIGNERS",
        ),
        (creation(expiry=(0, long_zero(9999), 7_776_000)), b"UNRESOLVABLE_REQUIRED_SIGNERS"),
        (creation(max_supply=4), b"INVALID_TOKEN_INITIAL_SUPPLY"),
        (creation(freeze_default=True), b"TOKEN_HAS_NO_FREEZE_KEY"),
    ],
    ids=[
        "change",
        "no treasury",
        "unknown treasury",
        "token",
        "renewal",
        "renewal of a new one",
        "supply",
        "key",
    ],
)
def test_a_schedule_names_accounts_that_sign(calls, data, text):
    answer = calls(NATIVE, TOKEN_SERVICE, data, long_zero(PERSON))
    if text is None:
        assert answer.output[:32] == words(CODES["SUCCESS"])
        return
    assert (answer.reverted, answer.output, answer.child) == (True, text, text.decode())
    assert not [row for row in calls.journal.rows().values() if isinstance(row, Schedule)]


@pytest.mark.parametrize("collected", [True, False], ids=["in hbar", "in the token itself"])
def test_who_collects_fees_of_a_scheduled_token_exists(calls, collected):
    signature = "createFungibleTokenWithCustomFees(HederaTokenV3,int64,int32,FixedFeeV2[],FractionalFeeV2[])"
    expiry = 0, long_zero(PERSON), 7_776_000
    struct: tuple[Any, ...] = ("Gold", "GLD", long_zero(PERSON), "", True, 9, False, [], expiry)
    fees = [(5, NOBODY, collected, not collected, long_zero(9999))]
    data = selector_of(signature) + encode(parameters_of(signature), (struct, 5, 2, fees, []))
    assert calls(NATIVE, TOKEN_SERVICE, data, long_zero(PERSON)).output == b"UNRESOLVABLE_REQUIRED_SIGNERS"


@pytest.mark.parametrize("payer", [long_zero(9999), bytes([7]) * 20, NOBODY], ids=["number", "alias", "zero"])
def test_a_payer_of_a_schedule_exists(calls, payer):
    assert calls(NATIVE, TOKEN_SERVICE, creation(), payer).halt is Halt.PRECOMPILE


def test_a_token_that_can_not_be_is_not_scheduled(calls):
    answer = calls(NATIVE, TOKEN_SERVICE, creation(symbol=""), long_zero(PERSON))
    assert answer.output == b"MISSING_TOKEN_SYMBOL"


# SIGNING AND DELETING


def test_a_contract_signs_once_by_its_id(calls):
    assert calls.code("authorizeSchedule(address)", long_zero(SCHEDULE)) == "SUCCESS"
    assert calls.overlay.signatories(SCHEDULE) == {BY_CONTRACT}
    assert calls.code("authorizeSchedule(address)", long_zero(SCHEDULE)) == "NO_NEW_VALID_SIGNATURES"


def test_a_contract_that_calls_a_schedule_signs_it(calls):
    answer = calls.at(long_zero(OURS), REDIRECT_FOR_SCHEDULE, "signSchedule()")
    assert (answer.output, answer.gas) == (words(CODES["SUCCESS"]), 142_044)
    assert calls.overlay.signatories(OURS) == {BY_CONTRACT}


def test_an_account_that_calls_a_schedule_signs_nothing(ledger):
    answer = Calls(SCHEDULE_SERVICE, sender=PERSON).at(
        long_zero(OURS), REDIRECT_FOR_SCHEDULE, "signSchedule()"
    )
    assert (answer.output, answer.gas) == (words(CODES["NO_NEW_VALID_SIGNATURES"]), 142_044)


def test_a_schedule_is_deleted_by_its_admin_key(calls):
    assert calls.code("deleteSchedule(address)", long_zero(SCHEDULE)) == "SUCCESS"
    assert calls.code("deleteSchedule(address)", long_zero(SCHEDULE)) == "SCHEDULE_ALREADY_DELETED"


def test_a_schedule_deletes_itself_for_its_admin(calls):
    answer = calls.at(long_zero(SCHEDULE), REDIRECT_FOR_SCHEDULE, "deleteSchedule()")
    assert (answer.output, answer.gas) == (words(CODES["SUCCESS"]), 71_622)
    answer = calls.at(long_zero(OURS), REDIRECT_FOR_SCHEDULE, "deleteSchedule()")
    assert (answer.reverted, answer.output) == (False, words(CODES["SCHEDULE_IS_IMMUTABLE"]))


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (EXECUTED, "SCHEDULE_ALREADY_EXECUTED"),
        (DELETED, "INVALID_SCHEDULE_ID"),
        (TOKEN, "INVALID_SCHEDULE_ID"),
        (999_999, "INVALID_SCHEDULE_ID"),
    ],
)
@pytest.mark.parametrize("signature", ["authorizeSchedule(address)", "deleteSchedule(address)"])
def test_only_a_schedule_that_waits_is_signed_or_deleted(calls, signature, number, expected):
    answer = calls(signature, long_zero(number))
    assert answer.child == expected
    assert answer.reverted is (expected == "INVALID_SCHEDULE_ID" and signature.startswith("authorize"))


def test_the_admin_key_of_another_contract_counts_as_signed(ledger):
    ledger.entity(4005, type="SCHEDULE", key=BY_CONTRACT)
    insert(
        "schedule",
        schedule_id=4005,
        consensus_timestamp=1,
        creator_account_id=PERSON,
        payer_account_id=PERSON,
        transaction_body=b"",
    )
    assert (
        Calls(SCHEDULE_SERVICE, sender=PERSON).code("deleteSchedule(address)", long_zero(4005)) == "SUCCESS"
    )


# LOOKING AT WHAT IS SCHEDULED


FUNGIBLE_INFO = "getScheduledCreateFungibleTokenInfo(address)"
UNIQUE_INFO = "getScheduledCreateNonFungibleTokenInfo(address)"


def info_of(calls: Calls, signature: str, schedule: Schedule) -> Any:
    function = SERVICES[SCHEDULE_SERVICE].functions[selector_of(signature)]
    code, info = decode(function.results, calls(signature, calls.overlay.address_of(schedule.id)).output)
    assert NAMES[code] == "SUCCESS"
    return info


def test_scheduled_token_is_returned(calls):
    fees = ([(5, NOBODY, True, False, long_zero(PERSON))], [(1, 10, 2, 9, True, long_zero(PERSON))])
    signature = "createFungibleTokenWithCustomFees(HederaTokenV3,int64,int32,FixedFeeV2[],FractionalFeeV2[])"
    keys = [(1, (False, NOBODY, bytes(range(32)), b"", NOBODY))]
    struct = ("Gold", "GLD", long_zero(PERSON), "m", True, 9, False, keys, (9, long_zero(PERSON), 7_776_000))
    data = selector_of(signature) + encode(parameters_of(signature), (struct, 5, 2, *fees))
    schedule = made(calls, NATIVE, TOKEN_SERVICE, data, long_zero(PERSON))

    (token, supply, deleted, _, paused, fixed, fractional, royalty, _), decimals = info_of(
        calls, FUNGIBLE_INFO, schedule
    )

    assert token[:2] == ("Gold", "GLD")
    assert token[7][0][1][2] == bytes(range(32))
    assert (supply, decimals, deleted, paused, royalty) == (5, 2, False, False, ())
    assert (fixed[0][0], fixed[0][2]) == (5, True)
    assert fractional[0][:5] == (1, 10, 2, 9, True)
    assert calls(UNIQUE_INFO, calls.overlay.address_of(schedule.id)).output == b"INVALID_SCHEDULE_ID"
    no_expiry = made(calls, NATIVE, TOKEN_SERVICE, creation(), long_zero(PERSON))
    assert calls(FUNGIBLE_INFO, calls.overlay.address_of(no_expiry.id)).halt is Halt.PRECOMPILE


def test_scheduled_unique_token_is_returned(calls):
    signature = "createNonFungibleTokenWithCustomFees(HederaTokenV3,FixedFeeV2[],RoyaltyFeeV2[])"
    keys = [(16, (False, NOBODY, bytes(32), b"", NOBODY))]
    struct = ("Art", "ART", long_zero(PERSON), "", False, 0, False, keys, (9, long_zero(PERSON), 7_776_000))
    royalty = [(1, 10, 7, NOBODY, True, long_zero(PERSON))]
    data = selector_of(signature) + encode(parameters_of(signature), (struct, [], royalty))
    schedule = made(calls, NATIVE, TOKEN_SERVICE, data, long_zero(PERSON))

    (token, *_, royalties, _), *serial = info_of(calls, UNIQUE_INFO, schedule)

    assert token[0] == "Art"
    assert royalties[0][:3] == (1, 10, 7)
    treasury = f"0x{long_zero(PERSON).hex()}"
    assert tuple(serial) == (0, treasury, 0, b"", treasury)


@pytest.mark.parametrize("signature", [FUNGIBLE_INFO, UNIQUE_INFO])
@pytest.mark.parametrize(
    ("number", "code"),
    [(SCHEDULE, "INVALID_SCHEDULE_ID"), (TOKEN, "RECORD_NOT_FOUND"), (999_999, "RECORD_NOT_FOUND")],
)
def test_what_schedules_no_token_has_no_information(calls, signature, number, code):
    answer = calls(signature, long_zero(number))
    assert (answer.reverted, answer.output, answer.gas) == (True, code.encode(), 2_607)


def test_scheduled_token_may_exceed_the_limits_of_tokens(ledger, calls):
    """Nobody looks at what a schedule holds before it is executed."""
    out_of_range = {"shardNum": 2**62, "accountNum": -1}
    creation = {
        "name": "\0",
        "initialSupply": 2**64 - 1,
        "decimals": 2**32 - 1,
        "maxSupply": -1,
        "treasury": out_of_range,
        "autoRenewAccount": out_of_range,
        "autoRenewPeriod": {"seconds": -(2**63)},
        "expiry": {"seconds": 2**63 - 1, "nanos": -5},
        "custom_fees": [
            {"fixed_fee": {"amount": -(2**63), "denominating_token_id": {"tokenNum": -7}}},
            {"fractional_fee": {"minimum_amount": -1}, "fee_collector_account_id": out_of_range},
            {"royalty_fee": {"fallback_fee": {"amount": 2**63 - 1}}},
            {},
        ],
    }
    body = SchedulableTransactionBody(tokenCreation=creation).SerializeToString()
    ledger.entity(4006, type="SCHEDULE")
    ledger.schedule(4006, transaction_body=body)
    answer = calls(FUNGIBLE_INFO, long_zero(4006))
    assert (answer.output[:32], answer.child) == (words(CODES["SUCCESS"]), "SUCCESS")


# SIGNATURES OF PEOPLE


def test_people_sign_by_their_signatures(calls):
    ours, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    ecdsa = PrivateKey()
    digest = keccak256(parse_body(SCHEDULE))
    pairs = [
        {"pubKeyPrefix": public(ours), "ed25519": ours.sign(parse_body(SCHEDULE))},
        {"pubKeyPrefix": public(other), "ed25519": other.sign(parse_body(OURS))},
        {
            "pubKeyPrefix": ecdsa.public_key.format(),
            "ECDSA_secp256k1": ecdsa.sign_recoverable(digest, hasher=None)[:64],
        },
    ]
    signatures = SignatureMap(sigPair=pairs).SerializeToString()

    assert calls.code(SIGN, long_zero(SCHEDULE), signatures) == "SUCCESS"

    assert calls.overlay.signatories(SCHEDULE) == {public(ours), ecdsa.public_key.format()}
    assert calls.code(SIGN, long_zero(SCHEDULE), signatures) == "NO_NEW_VALID_SIGNATURES"


def test_signatures_that_say_nothing_are_refused(calls):
    assert calls.code(SIGN, long_zero(SCHEDULE), b"") == "NO_NEW_VALID_SIGNATURES"
    assert calls(SIGN, long_zero(SCHEDULE), b"\xff").halt is Halt.PRECOMPILE


@pytest.mark.parametrize(
    ("recovery_id", "expected"),
    [(27, "SUCCESS"), (2 * 296 + 35, "SUCCESS"), (2 * 296 + 36, "SUCCESS"), (2 * 295 + 36, None), (35, None)],
)
def test_a_signature_for_another_chain_halts(calls, recovery_id, expected):
    """The tests' network is a testnet, 296."""
    key = PrivateKey()
    signed = key.sign_recoverable(keccak256(parse_body(SCHEDULE)), hasher=None)[:64]
    signature = signed + recovery_id.to_bytes(2, "big")
    pair = {"pubKeyPrefix": key.public_key.format(), "ECDSA_secp256k1": signature}
    answer = calls(SIGN, long_zero(SCHEDULE), SignatureMap(sigPair=[pair]).SerializeToString())
    assert (answer.halt, answer.child) == ((None, expected) if expected else (Halt.PRECOMPILE, None))
