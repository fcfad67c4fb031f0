"""Tokens that a call creates, and what later steps of the call see of them."""

from typing import Any

import pytest
from eth_abi.abi import decode, encode

from mirror.core.values.hapi.messages import Key
from mirror.core.values.hapi.result_codes import NAMES
from tests.web3sim.state.states import current, journal, long_zero
from tests.web3sim.system_contracts.calls import BLOCK, SERVICE, data_of, run, words
from web3sim.engine import registry
from web3sim.engine.interface import CallRequest, CallResult, Halt, Status, SystemCall
from web3sim.operations.prices import WITHOUT_FILES
from web3sim.state.overlay import Overlay
from web3sim.state.overridden_state import OverriddenState, Override
from web3sim.state.tables.rows import Relationship
from web3sim.system_contracts.contracts import NetworkContracts
from web3sim.system_contracts.function_signatures import parameters_of, selector_of

TREASURY, COLLECTOR, OTHER, CREATOR = 1001, 1002, 1003, 2009
ALIASED, KEYLESS, ALIAS, NO_KEY = 1004, 1005, b"\xcc" * 20, b"\x32\x00"
NOBODY = bytes(20)
PERIOD = 7_776_000
FUNGIBLE = "createFungibleToken(HederaTokenV3,int64,int32)"
WITH_FEES = "createFungibleTokenWithCustomFees(HederaTokenV3,int64,int32,FixedFeeV2[],FractionalFeeV2[])"
UNIQUE = "createNonFungibleToken(HederaTokenV3)"
UNIQUE_WITH_FEES = "createNonFungibleTokenWithCustomFees(HederaTokenV3,FixedFeeV2[],RoyaltyFeeV2[])"
CODES = {name: number for number, name in NAMES.items()}
# One dollar at 12 cents and a fifth, without the 100,000 gas at 71 tinybars.
FEE = 833_333_333 + 166_666_666 - 7_100_000
VALUE = 10**10


@pytest.fixture
def ledger(build):
    for number in (TREASURY, COLLECTOR, OTHER, CREATOR):
        build.entity(number, balance=10**11)
    build.entity(98, balance=5)
    build.entity(800)
    build.entity(ALIASED, key=NO_KEY, evm_address=ALIAS)
    build.entity(KEYLESS, key=NO_KEY)
    build.entity(3001, type="TOKEN")
    build.token(3001)
    return build


def key(*, bits: int = 16, inherits: bool = False, contract: bytes = NOBODY, ed25519: bytes = b"") -> Any:
    return bits, (inherits, contract, ed25519, b"", NOBODY)


def struct(**changes: Any) -> tuple[Any, ...]:
    members = {
        "name": "Gold",
        "symbol": "GLD",
        "treasury": long_zero(TREASURY),
        "memo": "a memo",
        "finite": False,
        "max_supply": 0,
        "freeze_default": False,
        "keys": [],
        "expiry": (0, long_zero(TREASURY), PERIOD),
    }
    return tuple((members | changes).values())


def creates(signature: str, *arguments: Any, value: int = VALUE) -> CallResult:
    data = selector_of(signature) + encode(parameters_of(signature), arguments)
    return run(current(), SERVICE, data, sender=CREATOR, value=value)


def code(result: CallResult) -> str:
    """The name of the response code, as an answer or a revert."""
    return NAMES[int.from_bytes(result.output[:32], "big")]


def test_a_token_is_created_for_whoever_pays(ledger):
    result = creates(FUNGIBLE, struct(), 700, 3)

    number, address = decode(("int64", "address"), result.output)
    assert (NAMES[number], address) == ("SUCCESS", f"0x{current().next_contract_address().hex()}")
    assert result.balances == {long_zero(CREATOR): 10**11 - FEE, long_zero(98): 5 + FEE}


def test_a_sender_that_overrides_alone_have_pays(ledger):
    sender = b"\x77" * 20
    stored = current()
    state = OverriddenState(stored, [Override(sender, balance=VALUE)])
    arguments = (struct(), 100, 2)
    data = selector_of(FUNGIBLE) + encode(parameters_of(FUNGIBLE), arguments)
    request = CallRequest(sender, SERVICE, data, 1_000_000, VALUE)

    result = registry.engine("pyevm").execute(request, BLOCK, state, NetworkContracts(stored))

    assert code(result) == "SUCCESS"


@pytest.mark.parametrize("version", ["V1", "V2", "V3"])
def test_each_version_of_the_structs_creates_the_same(ledger, version):
    numbers = {"V1": "uint256,uint256", "V2": "uint64,uint32", "V3": "int64,int32"}[version]
    with_fees = f"HederaToken{version},{numbers},FixedFee{version},FractionalFee{version}"
    fees = {"V1": ("V1", "V1"), "V2": ("V1", "V1"), "V3": ("V2", "V2")}[version]
    with_fees = f"HederaToken{version},{numbers},FixedFee{fees[0]}[],FractionalFee{fees[1]}[]"
    fixed = [(5, NOBODY, True, False, long_zero(COLLECTOR))]

    assert code(creates(f"createFungibleToken(HederaToken{version},{numbers})", struct(), 7, 0)) == "SUCCESS"
    assert (
        code(creates(f"createFungibleTokenWithCustomFees({with_fees})", struct(), 7, 0, fixed, []))
        == "SUCCESS"
    )
    unique = struct(keys=[key(inherits=True)])
    assert code(creates(f"createNonFungibleToken(HederaToken{version})", unique)) == "INVALID_SUPPLY_KEY"
    unique = struct(keys=[key(ed25519=bytes(32))])
    assert code(creates(f"createNonFungibleToken(HederaToken{version})", unique)) == "SUCCESS"
    signature = f"HederaToken{version},FixedFee{fees[0]}[],RoyaltyFee{fees[0]}[]"
    signature = f"createNonFungibleTokenWithCustomFees({signature})"
    assert code(creates(signature, unique, fixed, [])) == "SUCCESS"


def test_a_key_that_can_not_be_read_is_not_inherited(build):
    build.entity(TREASURY, balance=10**11)
    build.entity(CREATOR, balance=10**11, key=b"\xff")
    unique = struct(keys=[key(inherits=True)])
    assert code(creates(UNIQUE, unique)) == "INVALID_SUPPLY_KEY"


def test_a_call_that_pays_too_little_creates_nothing_and_pays_nothing(ledger):
    result = creates(FUNGIBLE, struct(), 700, 3, value=FEE - 1)

    assert result.status is Status.SUCCESS
    assert result.output == words(CODES["INSUFFICIENT_TX_FEE"], 0)
    assert result.balances == {}
    assert result.child_failures == ("INSUFFICIENT_TX_FEE",)


def test_custom_fees_cost_twice_as_much(ledger):
    fixed = [(5, NOBODY, True, False, long_zero(COLLECTOR))]
    dear = 2 * (833_333_333 + 166_666_666) + 1 - 7_100_000
    assert code(creates(WITH_FEES, struct(), 7, 0, fixed, [], value=dear - 2)) == "INSUFFICIENT_TX_FEE"
    assert code(creates(WITH_FEES, struct(), 7, 0, fixed, [], value=dear)) == "SUCCESS"
    assert code(creates(WITH_FEES, struct(), 7, 0, [], [], value=FEE)) == "SUCCESS"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [({"symbol": ""}, "MISSING_TOKEN_SYMBOL"), ({"treasury": long_zero(999_999)}, "INVALID_ACCOUNT_ID")],
)
def test_what_the_contract_checks_itself_reverts_with_a_text(ledger, changes, expected):
    result = creates(FUNGIBLE, struct(**changes), 1, 0)
    assert (result.status, result.output) == (Status.REVERT, expected.encode())
    too_little = creates(FUNGIBLE, struct(**changes), 1, 0, value=FEE - 1)
    assert too_little.output == words(CODES["INSUFFICIENT_TX_FEE"], 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"keys": [key(bits=1)]},
        {"keys": [key(bits=8, ed25519=bytes(31))]},
        {"keys": [key(inherits=True, ed25519=bytes(32))]},
        {"treasury": NOBODY},
        {"treasury": b"\xaa" * 20},
        {"treasury": long_zero(ALIASED)},
        {"treasury": ALIAS},
        {"expiry": (0, ALIAS, PERIOD)},
        {"expiry": (0, b"\xaa" * 20, PERIOD)},
        {"keys": [key(contract=b"\xaa" * 20)]},
        {"keys": [key(contract=long_zero(ALIASED))]},
        {"keys": [key(contract=b"\xaa" * 20, ed25519=bytes(32))]},
    ],
    ids=str,
)
def test_structs_that_mean_nothing_halt(ledger, changes):
    assert creates(FUNGIBLE, struct(**changes), 1, 0).halt is Halt.PRECOMPILE


@pytest.mark.parametrize(
    ("changes", "supply", "decimals", "expected"),
    [
        ({"name": ""}, 1, 0, "MISSING_TOKEN_NAME"),
        ({"name": "n" * 101}, 1, 0, "TOKEN_NAME_TOO_LONG"),
        ({"symbol": "ä" * 51}, 1, 0, "TOKEN_SYMBOL_TOO_LONG"),
        ({"symbol": "a\0b"}, 1, 0, "INVALID_ZERO_BYTE_IN_STRING"),
        ({"memo": "m" * 101}, 1, 0, "MEMO_TOO_LONG"),
        ({}, -1, 0, "INVALID_TOKEN_INITIAL_SUPPLY"),
        ({}, 1, -1, "INVALID_TOKEN_DECIMALS"),
        ({"max_supply": 5}, 1, 0, "INVALID_TOKEN_MAX_SUPPLY"),
        ({"finite": True}, 1, 0, "INVALID_TOKEN_MAX_SUPPLY"),
        ({"finite": True, "max_supply": 5}, 6, 0, "INVALID_TOKEN_INITIAL_SUPPLY"),
        ({"freeze_default": True}, 1, 0, "TOKEN_HAS_NO_FREEZE_KEY"),
        ({"keys": [key(bits=1, inherits=True)]}, 1, 0, "INVALID_ADMIN_KEY"),
        ({"expiry": (0, NOBODY, PERIOD)}, 1, 0, "INVALID_EXPIRATION_TIME"),
        ({"expiry": (0, long_zero(999_999), PERIOD)}, 1, 0, "INVALID_AUTORENEW_ACCOUNT"),
        ({"expiry": (0, long_zero(KEYLESS), PERIOD)}, 1, 0, "INVALID_AUTORENEW_ACCOUNT"),
        ({"expiry": (0, long_zero(ALIASED), PERIOD)}, 1, 0, "INVALID_EXPIRATION_TIME"),
        ({"treasury": long_zero(KEYLESS)}, 1, 0, "INVALID_ACCOUNT_ID"),
        ({"treasury": long_zero(800)}, 1, 0, "INVALID_ACCOUNT_ID"),
        ({"expiry": (0, long_zero(TREASURY), 1)}, 1, 0, "INVALID_RENEWAL_PERIOD"),
        ({"expiry": (-1, NOBODY, 0)}, 1, 0, "INVALID_RENEWAL_PERIOD"),
    ],
    ids=str,
)
def test_what_the_network_refuses_reverts(ledger, changes, supply, decimals, expected):
    result = creates(FUNGIBLE, struct(**changes), supply, decimals)
    assert (result.status, result.output) == (Status.REVERT, words(CODES[expected]))
    assert result.balances == {}


def test_what_is_no_account_may_have_its_number_as_treasury(ledger):
    """The number of a token is one at which no account is."""
    result = creates(FUNGIBLE, struct(treasury=long_zero(3001)), 1, 0)
    assert (result.status, result.output) == (Status.REVERT, b"INVALID_ACCOUNT_ID")


def test_key_without_meaning_does_not_count(ledger):
    """Neither one of a wrong length, nor the long-zero address of a contract with another one."""
    for contract, ed25519 in ((OTHER, bytes(31)), (ALIASED, bytes(32))):
        value = (False, long_zero(contract), ed25519, b"", NOBODY)
        assert code(creates(FUNGIBLE, struct(keys=[(16, value)]), 1, 0)) == "SUCCESS"


def test_the_key_of_the_creator_may_be_unreadable(ledger):
    ledger.entity(1006, key=b"no key", balance=10**11)
    data = selector_of(FUNGIBLE) + encode(parameters_of(FUNGIBLE), (struct(keys=[key(inherits=True)]), 1, 0))
    result = run(current(), SERVICE, data, sender=1006, value=VALUE)
    assert code(result) == "INVALID_SUPPLY_KEY"


def test_a_unique_token_needs_a_supply_key(ledger):
    assert code(creates(UNIQUE, struct())) == "TOKEN_HAS_NO_SUPPLY_KEY"


FIXED = (5, NOBODY, True, False, long_zero(COLLECTOR))
FRACTIONAL = (1, 10, 1, 0, False, long_zero(COLLECTOR))
ROYALTY = (1, 10, 7, NOBODY, True, long_zero(COLLECTOR))


@pytest.mark.parametrize(
    ("fixed", "fractional", "expected"),
    [
        ([FIXED] * 11, [], "CUSTOM_FEES_LIST_TOO_LONG"),
        ([(5, NOBODY, True, False, long_zero(999_999))], [], "INVALID_CUSTOM_FEE_COLLECTOR"),
        ([(0, NOBODY, True, False, long_zero(COLLECTOR))], [], "CUSTOM_FEE_MUST_BE_POSITIVE"),
        (
            [(5, long_zero(3001), False, False, long_zero(COLLECTOR))],
            [],
            "TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR",
        ),
        ([(5, long_zero(2999), False, False, long_zero(COLLECTOR))], [], "INVALID_TOKEN_ID_IN_CUSTOM_FEES"),
        ([], [(1, 0, 1, 0, False, long_zero(COLLECTOR))], "FRACTION_DIVIDES_BY_ZERO"),
        ([], [(1, 10, 5, 4, False, long_zero(COLLECTOR))], "FRACTIONAL_FEE_MAX_AMOUNT_LESS_THAN_MIN_AMOUNT"),
        ([], [(0, 10, 5, 0, False, long_zero(COLLECTOR))], "CUSTOM_FEE_MUST_BE_POSITIVE"),
    ],
    ids=str,
)
def test_fees_that_the_network_refuses_revert(ledger, fixed, fractional, expected):
    result = creates(WITH_FEES, struct(), 1, 0, fixed, fractional)
    assert (result.status, result.output) == (Status.REVERT, words(CODES[expected]))


def test_fee_without_a_currency_halts(ledger):
    fixed = (5, NOBODY, False, False, long_zero(COLLECTOR))
    assert creates(WITH_FEES, struct(), 1, 0, [fixed], []).halt is Halt.PRECOMPILE


@pytest.mark.parametrize(
    ("royalty", "expected"),
    [
        ((2, 1, 7, NOBODY, True, long_zero(COLLECTOR)), "ROYALTY_FRACTION_CANNOT_EXCEED_ONE"),
        ((1, 0, 7, NOBODY, True, long_zero(COLLECTOR)), "FRACTION_DIVIDES_BY_ZERO"),
        (ROYALTY, "SUCCESS"),
    ],
)
def test_royalties_of_a_unique_token(ledger, royalty, expected):
    unique = struct(keys=[key(ed25519=bytes(32))])
    assert code(creates(UNIQUE_WITH_FEES, unique, [], [royalty])) == expected


# THE ROWS


def system_call(data: bytes) -> SystemCall:
    return SystemCall(SERVICE, SERVICE, long_zero(CREATOR), data, VALUE, 10**6, static=False, depth=0)


def test_the_rows_of_a_new_token_are_seen_by_later_steps(ledger):
    state = current()
    changes = journal(state)
    changes.set_balance(SERVICE, VALUE)
    every_key = [(255, (False, NOBODY, bytes(range(32)), b"", NOBODY))]
    fixed, fractional = [(5, NOBODY, False, True, long_zero(COLLECTOR))], [FRACTIONAL]
    arguments = (struct(keys=every_key, finite=True, max_supply=900), 700, 3, fixed, fractional)
    data = selector_of(WITH_FEES) + encode(parameters_of(WITH_FEES), arguments)

    answer = NetworkContracts(state).call(system_call(data), changes)

    overlay = Overlay(state, changes)
    address = answer.output[-20:]
    token = overlay.token_at(address)
    assert token is not None
    assert (token.name, token.symbol, token.decimals, token.memo) == ("Gold", "GLD", 3, "a memo")
    assert (token.finite, token.max_supply, token.pause_status) == (True, 900, "UNPAUSED")
    assert token.admin_key == token.pause_key == Key(ed25519=bytes(range(32))).SerializeToString()
    # The service does not know this kind.
    assert token.metadata_key is None
    assert overlay.total_supply(token) == 700
    assert overlay.relationship(token, TREASURY) == Relationship(TREASURY, token.id, 700, 2, 1)
    assert overlay.relationship(token, COLLECTOR) == Relationship(COLLECTOR, token.id, 0, 2, 1)
    assert overlay.custom_fees(token.id).fixed[0]["denominating_token_id"] == token.id
    proxy = changes.current(address)
    assert proxy is not None
    assert proxy.code
    assert answer.gas == 100_000
    balance = selector_of("redirectForToken(address,bytes)") + encode(
        ("address", "bytes"), (address, data_of("balanceOf(address)", TREASURY))
    )
    assert NetworkContracts(state, WITHOUT_FILES).call(system_call(balance), changes).output == words(700)
