"""Tokens that a call changes."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import ContractID, Key
from tests.web3sim.state.states import long_zero
from tests.web3sim.system_contracts.calls import CODES, Calls, words
from web3sim.engine.interface import Halt

TREASURY, NEW, OTHER, KEYLESS = 1001, 1002, 1003, 1004
TOKEN, UNIQUE, IMMUTABLE = 3001, 3002, 3003
NOBODY = bytes(20)
ADMIN = Key(ed25519=bytes(range(32))).SerializeToString()
INFO, KEYS = "updateTokenInfo(address,HederaTokenV3)", "updateTokenKeys(address,TokenKey[])"
EXPIRY = "updateTokenExpiryInfo(address,ExpiryV2)"
FEES = "updateFungibleTokenCustomFees(address,FixedFeeV2[],FractionalFeeV2[])"
ROYALTIES = "updateNonFungibleTokenCustomFees(address,FixedFeeV2[],RoyaltyFeeV2[])"


@pytest.fixture
def ledger(build):
    build.block(7)
    for number in (TREASURY, OTHER, 2009):
        build.entity(number)
    build.entity(NEW, max_automatic_token_associations=1)
    for number in (TOKEN, UNIQUE):
        build.entity(number, type="TOKEN", key=ADMIN, expiration_timestamp=5 * 10**9, memo="old")
        build.holding(number, account=TREASURY, balance=2)
    build.entity(IMMUTABLE, type="TOKEN")
    build.token(TOKEN, total_supply=2, kyc_key=ADMIN, fee_schedule_key=ADMIN)
    build.token(UNIQUE, type="NON_FUNGIBLE_UNIQUE", total_supply=2, fee_schedule_key=ADMIN)
    build.token(IMMUTABLE, kyc_key=ADMIN)
    for serial_number in (1, 2):
        build.nft(UNIQUE, serial_number, account=TREASURY)
    return build


@pytest.fixture
def calls(ledger):
    return Calls()


def struct(**changes: Any) -> tuple[Any, ...]:
    members = {
        "name": "",
        "symbol": "",
        "treasury": NOBODY,
        "memo": "",
        "finite": False,
        "max_supply": 0,
        "freeze_default": False,
        "keys": [],
        "expiry": (0, NOBODY, 0),
    }
    return tuple((members | changes).values())


def key(bits: int, *, contract: bytes = NOBODY, ed25519: bytes = b"") -> Any:
    return bits, (False, contract, ed25519, b"", NOBODY)


def test_what_is_given_changes_and_the_rest_stays(calls):
    assert calls.code(INFO, long_zero(TOKEN), struct(name="New", memo="m", keys=[key(2, ed25519=bytes(32))]))

    symbol = Calls().token(TOKEN).symbol
    token = calls.token(TOKEN)
    assert (token.name, token.memo, token.symbol) == ("New", "m", symbol)
    assert token.kyc_key == Key(ed25519=bytes(32)).SerializeToString()
    assert token.expiration_timestamp == 5 * 10**9


@pytest.mark.parametrize("version", [1, 2, 3])
def test_each_version_of_the_struct_is_taken(calls, version):
    assert calls.code(f"updateTokenInfo(address,HederaTokenV{version})", long_zero(TOKEN), struct(name="a"))
    assert calls.token(TOKEN).name == "a"


@pytest.mark.parametrize("version", [1, 2])
def test_the_expiry_changes_alone(calls, version):
    signature = f"updateTokenExpiryInfo(address,ExpiryV{version})"
    later = calls.state.block.consensus_start // 10**9 + 8_000_000
    assert calls.code(signature, long_zero(TOKEN), (later, long_zero(OTHER), 7_000_000)) == "SUCCESS"
    token = calls.token(TOKEN)
    assert token.expiration_timestamp == later * 10**9
    assert (
        calls.code(signature, long_zero(TOKEN), (later - 1, NOBODY, 0)) == "EXPIRATION_REDUCTION_NOT_ALLOWED"
    )
    assert (token.auto_renew_account_id, token.auto_renew_period) == (OTHER, 7_000_000)


def test_units_go_to_the_new_treasury(calls):
    assert calls.code(INFO, long_zero(TOKEN), struct(treasury=long_zero(NEW))) == "SUCCESS"
    token = calls.token(TOKEN)
    assert token.treasury_account_id == NEW
    assert [calls.overlay.token_balance(token, account) for account in (TREASURY, NEW)] == [0, 2]
    assert calls.overlay.associations(NEW) == (1, 1)


def test_all_serials_move_to_the_new_treasury(calls):
    calls.overlay.put_nft(UNIQUE, 1, calls.overlay.nft(UNIQUE, 1))
    assert calls.code(INFO, long_zero(UNIQUE), struct(treasury=long_zero(NEW))) == "SUCCESS"
    assert [calls.overlay.nft(UNIQUE, serial).account_id for serial in (1, 2)] == [NEW, NEW]
    assert calls.overlay.token_balance(calls.token(UNIQUE), NEW) == 2


@pytest.mark.parametrize(
    ("token", "changes", "expected"),
    [
        (2999, {}, "INVALID_TOKEN_ID"),
        (TOKEN, {"memo": "m" * 101}, "MEMO_TOO_LONG"),
        (TOKEN, {"name": "n" * 101}, "TOKEN_NAME_TOO_LONG"),
        (TOKEN, {"symbol": "s" * 101}, "TOKEN_SYMBOL_TOO_LONG"),
        (TOKEN, {"keys": [key(4, ed25519=bytes(32))]}, "TOKEN_HAS_NO_FREEZE_KEY"),
        (TOKEN, {"expiry": (10**9 - 1, NOBODY, 0)}, "INVALID_EXPIRATION_TIME"),
        (TOKEN, {"expiry": (2**40, NOBODY, 0)}, "INVALID_EXPIRATION_TIME"),
        (TOKEN, {"expiry": (0, NOBODY, 1)}, "AUTORENEW_DURATION_NOT_IN_RANGE"),
        (TOKEN, {"expiry": (0, long_zero(999_999), 0)}, "INVALID_AUTORENEW_ACCOUNT"),
        (TOKEN, {"treasury": long_zero(999_999)}, "INVALID_TREASURY_ACCOUNT_FOR_TOKEN"),
        (TOKEN, {"treasury": long_zero(TOKEN)}, "INVALID_TREASURY_ACCOUNT_FOR_TOKEN"),
        (TOKEN, {"treasury": long_zero(KEYLESS)}, "INVALID_ACCOUNT_ID"),
        (TOKEN, {"expiry": (0, long_zero(KEYLESS), 0)}, "INVALID_AUTORENEW_ACCOUNT"),
        (TOKEN, {"treasury": long_zero(OTHER)}, "NO_REMAINING_AUTOMATIC_ASSOCIATIONS"),
        (IMMUTABLE, {"name": "n"}, "TOKEN_IS_IMMUTABLE"),
    ],
    ids=str,
)
def test_refusal_has_its_code_and_changes_nothing(ledger, calls, token, changes, expected):
    ledger.entity(KEYLESS, key=b"\x32\x00")
    assert calls.code(INFO, long_zero(token), struct(**changes)) == expected
    assert dict(calls.journal.rows()) == {}


def test_account_without_a_number_is_none(ledger, calls):
    """Neither the long-zero address of an account with another one, nor for the renewal an unknown one."""
    ledger.entity(KEYLESS, evm_address=bytes([9]) * 20)
    for renewer in (long_zero(KEYLESS), bytes([8]) * 20):
        changes = {"treasury": long_zero(KEYLESS), "expiry": (0, renewer, 0)}
        assert calls.code(INFO, long_zero(TOKEN), struct(**changes)) == "SUCCESS"
    token = calls.token(TOKEN)
    assert (token.treasury_account_id, token.auto_renew_account_id) == (TREASURY, None)
    unknown = struct(treasury=bytes([8]) * 20)
    assert calls.code(INFO, long_zero(TOKEN), unknown) == "INVALID_TREASURY_ACCOUNT_FOR_TOKEN"


@pytest.mark.parametrize(
    ("held", "columns", "treasury", "new", "code"),
    [
        (2, {"kyc_status": 2}, {"kyc_status": 1}, None, "TOKEN_HAS_NO_KYC_KEY"),
        (2, {"kyc_status": 2}, {"kyc_status": 2}, {"kyc_status": 1}, "TOKEN_HAS_NO_KYC_KEY"),
        (2, {"kyc_status": 2}, {"kyc_status": 1}, {"kyc_status": 1}, "SUCCESS"),
        (0, {"kyc_status": 2}, {"kyc_status": 1}, None, "SUCCESS"),
        (0, {}, {"freeze_status": 1}, None, "ACCOUNT_FROZEN_FOR_TOKEN"),
        (0, {"freeze_status": 1}, {"freeze_status": 2}, None, "ACCOUNT_FROZEN_FOR_TOKEN"),
    ],
    ids=str,
)
def test_both_treasuries_need_a_usable_relationship(ledger, held, columns, treasury, new, code):
    ledger.entity(3004, type="TOKEN", key=ADMIN)
    ledger.token(3004, kyc_key=ADMIN, freeze_key=ADMIN, total_supply=held, **columns)
    ledger.holding(3004, account=TREASURY, balance=held, **treasury)
    if new is not None:
        ledger.holding(3004, account=NEW, **new)
    assert Calls().code(INFO, long_zero(3004), struct(treasury=long_zero(NEW))) == code


def test_serials_of_the_new_treasury_matter_if_the_old_one_has_some(ledger):
    for number, held in ((3004, 0), (3005, 1)):
        ledger.entity(number, type="TOKEN", key=ADMIN)
        ledger.token(number, type="NON_FUNGIBLE_UNIQUE", total_supply=held + 1)
        ledger.holding(number, account=TREASURY, balance=held)
        ledger.holding(number, account=NEW, balance=1)
    change = struct(treasury=long_zero(NEW))
    assert Calls().code(INFO, long_zero(3004), change) == "SUCCESS"
    assert Calls().code(INFO, long_zero(3005), change) == "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES"


def test_the_service_knows_no_metadata_key(calls):
    assert calls.code(KEYS, long_zero(TOKEN), [key(128, ed25519=bytes(32))]) == "SUCCESS"
    assert calls.token(TOKEN).metadata_key is None


def test_what_fees_are_paid_in_is_read_generously(calls):
    """The token itself counts first, then hbar; without a token, too."""
    somebody = long_zero(TREASURY)
    fixed = [(1, NOBODY, False, False, somebody), (2, long_zero(UNIQUE), True, False, somebody)]
    fixed += [(3, long_zero(UNIQUE), True, True, somebody)]
    assert calls.code(FEES, long_zero(TOKEN), fixed, []) == "SUCCESS"
    paid_in = [fee["denominating_token_id"] for fee in calls.overlay.custom_fees(TOKEN).fixed]
    assert paid_in == [None, None, TOKEN]
    royalties = [(1, 10, 0, NOBODY, True, somebody), (1, 10, 4, NOBODY, False, somebody)]
    assert calls.code(ROYALTIES, long_zero(UNIQUE), [], royalties) == "SUCCESS"
    fallbacks = [fee["fallback_fee"] for fee in calls.overlay.custom_fees(UNIQUE).royalty]
    assert fallbacks == [None, {"amount": 4, "denominating_token_id": None}]


def test_a_paused_token_does_not_change(ledger):
    ledger.entity(3004, type="TOKEN", key=ADMIN)
    ledger.token(3004, pause_status="PAUSED", pause_key=ADMIN)
    assert Calls().code(INFO, long_zero(3004), struct(name="n")) == "TOKEN_IS_PAUSED"


def test_the_key_of_another_contract_counts_as_having_signed(ledger):
    foreign = Key(contractID=ContractID(contractNum=OTHER)).SerializeToString()
    ledger.entity(3004, type="TOKEN", key=foreign)
    ledger.token(3004, fee_schedule_key=foreign)
    assert Calls().code(INFO, long_zero(3004), struct(name="n")) == "SUCCESS"
    fixed = [(5, NOBODY, True, False, long_zero(OTHER))]
    assert Calls().code(FEES, long_zero(3004), fixed, []) == "SUCCESS"


def test_key_that_is_nothing_halts(calls):
    assert calls(KEYS, long_zero(TOKEN), [key(1)]).halt is Halt.PRECOMPILE


def test_a_key_replaces_itself_without_an_admin_key(calls):
    assert calls.code(KEYS, long_zero(IMMUTABLE), [key(2, ed25519=bytes(32))]) == "SUCCESS"
    assert calls.token(IMMUTABLE).kyc_key == Key(ed25519=bytes(32)).SerializeToString()
    assert calls.code(KEYS, long_zero(IMMUTABLE), [key(1, ed25519=bytes(32))]) == "TOKEN_IS_IMMUTABLE"


def test_custom_fees_are_replaced(calls):
    fixed = [(5, NOBODY, True, False, long_zero(OTHER))]
    fractional = [(1, 10, 1, 7, True, long_zero(TREASURY))]
    assert calls.code(FEES, long_zero(TOKEN), fixed, fractional) == "SUCCESS"
    fees = calls.overlay.custom_fees(TOKEN)
    assert fees.fixed == (
        {
            "all_collectors_are_exempt": False,
            "amount": 5,
            "collector_account_id": OTHER,
            "denominating_token_id": None,
        },
    )
    assert fees.fractional[0]["maximum_amount"] == 7
    royalty = [(1, 10, 7, NOBODY, True, long_zero(OTHER))]
    assert calls.code(ROYALTIES, long_zero(UNIQUE), [], royalty) == "SUCCESS"
    assert calls.overlay.custom_fees(UNIQUE).royalty[0]["fallback_fee"] == {
        "amount": 7,
        "denominating_token_id": None,
    }


@pytest.mark.parametrize(
    ("signature", "token", "fixed", "expected"),
    [
        (FEES, 2999, [], "INVALID_TOKEN_ID"),
        (FEES, TOKEN, [(1, NOBODY, True, False, long_zero(999_999))], "INVALID_CUSTOM_FEE_COLLECTOR"),
        (ROYALTIES, UNIQUE, [], "CUSTOM_SCHEDULE_ALREADY_HAS_NO_FEES"),
        (FEES, IMMUTABLE, [], "TOKEN_HAS_NO_FEE_SCHEDULE_KEY"),
        (FEES, TOKEN, [], "CUSTOM_SCHEDULE_ALREADY_HAS_NO_FEES"),
        (FEES, TOKEN, [(0, NOBODY, True, False, long_zero(OTHER))], "CUSTOM_FEE_MUST_BE_POSITIVE"),
        (FEES, TOKEN, [(1, NOBODY, False, True, long_zero(OTHER))], "TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR"),
    ],
    ids=str,
)
def test_refused_fees_have_their_code(calls, signature, token, fixed, expected):
    answer = calls(signature, long_zero(token), fixed, [])
    assert (answer.output, answer.gas) == (words(CODES[expected]), 15_284)
