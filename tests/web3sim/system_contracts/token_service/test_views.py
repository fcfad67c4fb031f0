"""The views of the token service that name a token."""

from typing import Any

import pytest
from eth_abi.abi import decode, encode

from mirror.core.values.hapi.messages import ContractID, Key, KeyList
from tests.build import SECOND, START
from tests.web3sim.rows import contract
from tests.web3sim.state.states import at, current, long_zero
from tests.web3sim.system_contracts.calls import CALLER, SERVICE, data_of, run, words
from tests.web3sim.system_contracts.scripts import Step, outcomes, script
from tests.web3sim.system_contracts.token_service.ledger import CODES, REMOVED
from web3sim.engine.interface import Halt, Status
from web3sim.operations.prices import WITHOUT_FILES
from web3sim.system_contracts.function_signatures import canonical, parameters_of
from web3sim.system_contracts.token_service.functions import FUNCTIONS

TREASURY, OWNER, SPENDER, COLLECTOR = 1001, 2001, 2002, 2003
TOKEN, UNIQUE, BARE, DELETED = 3001, 3002, 3003, 3004
OWNER_ADDRESS, COLLECTOR_ADDRESS = bytes([0x83]) * 20, bytes([0x6B]) * 20
NOBODY, UNKNOWN = bytes(20), long_zero(2999)
ED25519, ECDSA, CONTRACT = bytes([7]) * 32, bytes([2]) * 33, 5001
STATES = pytest.mark.parametrize("state_of", [current, lambda: at(START + 100)], ids=["now", "then"])
VIEWS = [function for function in FUNCTIONS.values() if not function.writes]
RETURNS = {function.signature: function.returns for function in VIEWS}


def key(**kinds):
    return Key(**kinds).SerializeToString()


@pytest.fixture
def ledger(build):
    build.block(7)
    for number in (TREASURY, SPENDER, CALLER):
        build.entity(number)
    build.entity(OWNER, evm_address=OWNER_ADDRESS)
    build.entity(COLLECTOR, evm_address=COLLECTOR_ADDRESS)
    build.entity(
        *(TOKEN,),
        type="TOKEN",
        key=key(ed25519=ED25519),
        memo="all of gold",
        expiration_timestamp=START + 9 * SECOND,
        auto_renew_account_id=OWNER,
        auto_renew_period=7_776_000,
    )
    for number in (UNIQUE, BARE):
        build.entity(number, type="TOKEN", auto_renew_period=100 if number == UNIQUE else None)
    build.entity(DELETED, type="TOKEN", deleted=True)
    build.token(
        *(TOKEN,),
        name="Ledger Gold",
        symbol="LGD",
        decimals=4,
        total_supply=77,
        max_supply=9000,
        supply_type="FINITE",
        freeze_default=True,
        freeze_status=1,
        kyc_status=2,
        pause_status="PAUSED",
        kyc_key=key(ECDSA_secp256k1=ECDSA),
        freeze_key=key(contractID=ContractID(contractNum=CONTRACT)),
        wipe_key=key(delegatable_contract_id=ContractID(contractNum=CONTRACT)),
        supply_key=key(keyList=KeyList(keys=[Key(ed25519=ED25519)])),
        pause_key=REMOVED,
        metadata_key=key(contractID=ContractID(evm_address=OWNER_ADDRESS)),
    )
    build.token(UNIQUE, name="Pictures", symbol="PIC", type="NON_FUNGIBLE_UNIQUE", kyc_status=1, max_supply=0)
    build.token(BARE)
    build.token(DELETED)
    build.holding(TOKEN, account=OWNER, balance=60, freeze_status=1, kyc_status=1)
    build.holding(TOKEN, account=SPENDER, freeze_status=2, kyc_status=2)
    build.holding(TOKEN, account=TREASURY, balance=17)
    build.holding(BARE, account=OWNER, freeze_status=0, kyc_status=0)
    build.nft(UNIQUE, 1, account=OWNER, spender=SPENDER, metadata=b"\xff", since=START + 50)
    build.nft(UNIQUE, 2, account=None)
    build.nft(UNIQUE, 3, account=None, deleted=True)
    build.allowance("token", owner=OWNER, spender=SPENDER, token_id=TOKEN, amount=33, amount_granted=33)
    build.allowance("nft", owner=OWNER, spender=SPENDER, token_id=UNIQUE)
    collected = {"collector_account_id": COLLECTOR, "all_collectors_are_exempt": True}
    build.custom_fee(
        TOKEN,
        fixed_fees=[
            {"amount": 12, "denominating_token_id": None, **collected},
            {"amount": 13, "denominating_token_id": BARE, **collected, "collector_account_id": TREASURY},
        ],
        fractional_fees=[
            {
                **{"numerator": 1, "denominator": 50, "minimum_amount": 2, "maximum_amount": None},
                **{"net_of_transfers": True, **collected},
            }
        ],
    )
    build.custom_fee(
        UNIQUE,
        royalty_fees=[
            {"numerator": 1, "denominator": 10, "fallback_fee": None, **collected},
            {
                **{"numerator": 2, "denominator": 10, **collected},
                "fallback_fee": {"amount": 5, "denominating_token_id": TOKEN},
            },
        ],
    )
    build.transaction(START + 50, tokens=[(TOKEN, OWNER, 60), (TOKEN, TREASURY, 17)])
    return build


def ask(state, signature, *values):
    """The values that a view answers."""
    result = run(state, SERVICE, data_of(signature, *values))
    assert result.status is Status.SUCCESS, result
    return decode(parameters_of(canonical(RETURNS[signature])), result.output)


def text(address):
    return "0x" + address.hex()


TOKEN_ADDRESS, UNIQUE_ADDRESS = long_zero(TOKEN), long_zero(UNIQUE)
FROZEN, KYC, ALLOWANCE = (
    "isFrozen(address,address)",
    "isKyc(address,address)",
    "allowance(address,address,address)",
)
GET_APPROVED, FOR_ALL = "getApproved(address,uint256)", "isApprovedForAll(address,address,address)"
TOKEN_KEY = "getTokenKey(address,uint256)"
INFO, FUNGIBLE, UNIQUE_INFO = (
    "getTokenInfo(address)",
    "getFungibleTokenInfo(address)",
    "getNonFungibleTokenInfo(address,int64)",
)
EXPIRY, FEES = "getTokenExpiryInfo(address)", "getTokenCustomFees(address)"
NO_KEY = (False, text(NOBODY), b"", b"", text(NOBODY))

ANSWERS = [
    *(("isToken(address)", (long_zero(number),), (22, True)) for number in (TOKEN, UNIQUE, BARE)),
    *(
        ("isToken(address)", (address,), (22, False))
        for address in (long_zero(DELETED), long_zero(OWNER), OWNER_ADDRESS, UNKNOWN, NOBODY)
    ),
    ("getTokenType(address)", (TOKEN_ADDRESS,), (22, 0)),
    ("getTokenType(address)", (UNIQUE_ADDRESS,), (22, 1)),
    (FROZEN, (TOKEN_ADDRESS, OWNER_ADDRESS), (22, True)),
    (FROZEN, (TOKEN_ADDRESS, long_zero(SPENDER)), (22, False)),
    # The relationship states nothing: as the token.
    (FROZEN, (TOKEN_ADDRESS, long_zero(TREASURY)), (22, True)),
    (FROZEN, (TOKEN_ADDRESS, long_zero(CALLER)), (22, False)),
    (FROZEN, (long_zero(BARE), OWNER_ADDRESS), (22, False)),
    (KYC, (TOKEN_ADDRESS, OWNER_ADDRESS), (22, True)),
    (KYC, (TOKEN_ADDRESS, long_zero(SPENDER)), (22, False)),
    (KYC, (TOKEN_ADDRESS, long_zero(TREASURY)), (22, False)),
    (KYC, (TOKEN_ADDRESS, long_zero(CALLER)), (22, False)),
    # Who is associated with a token without a KYC key needs none.
    (KYC, (long_zero(BARE), OWNER_ADDRESS), (22, True)),
    ("getTokenDefaultFreezeStatus(address)", (TOKEN_ADDRESS,), (22, True)),
    ("getTokenDefaultFreezeStatus(address)", (UNIQUE_ADDRESS,), (22, False)),
    ("getTokenDefaultKycStatus(address)", (TOKEN_ADDRESS,), (22, False)),
    ("getTokenDefaultKycStatus(address)", (UNIQUE_ADDRESS,), (22, True)),
    (EXPIRY, (TOKEN_ADDRESS,), (22, (START // SECOND + 9, text(long_zero(OWNER)), 7_776_000))),
    (EXPIRY, (UNIQUE_ADDRESS,), (22, (START // SECOND + 100, text(NOBODY), 100))),
    (EXPIRY, (long_zero(BARE),), (22, (0, text(NOBODY), 0))),
    (TOKEN_KEY, (TOKEN_ADDRESS, 1), (22, (False, text(NOBODY), ED25519, b"", text(NOBODY)))),
    (TOKEN_KEY, (TOKEN_ADDRESS, 2), (22, (False, text(NOBODY), b"", ECDSA, text(NOBODY)))),
    (TOKEN_KEY, (TOKEN_ADDRESS, 4), (22, (False, text(long_zero(CONTRACT)), b"", b"", text(NOBODY)))),
    (TOKEN_KEY, (TOKEN_ADDRESS, 8), (22, (False, text(NOBODY), b"", b"", text(long_zero(CONTRACT))))),
    # A key of several: it is there, and can't be told.
    (TOKEN_KEY, (TOKEN_ADDRESS, 16), (22, NO_KEY)),
    # It was removed: the list of its keys is empty.
    (TOKEN_KEY, (TOKEN_ADDRESS, 64), (22, NO_KEY)),
    *((TOKEN_KEY, (TOKEN_ADDRESS, bit), (44, NO_KEY)) for bit in (0, 3, 32, 128, 256, 1 << 255)),
    (ALLOWANCE, (TOKEN_ADDRESS, OWNER_ADDRESS, long_zero(SPENDER)), (22, 33)),
    (ALLOWANCE, (TOKEN_ADDRESS, long_zero(SPENDER), OWNER_ADDRESS), (22, 0)),
    (ALLOWANCE, (TOKEN_ADDRESS, OWNER_ADDRESS, UNKNOWN), (22, 0)),
    (GET_APPROVED, (UNIQUE_ADDRESS, 1), (22, text(long_zero(SPENDER)))),
    (GET_APPROVED, (UNIQUE_ADDRESS, 2), (22, text(NOBODY))),
    (FOR_ALL, (UNIQUE_ADDRESS, OWNER_ADDRESS, long_zero(SPENDER)), (22, True)),
    (FOR_ALL, (UNIQUE_ADDRESS, long_zero(SPENDER), OWNER_ADDRESS), (22, False)),
    (FOR_ALL, (UNIQUE_ADDRESS, UNKNOWN, OWNER_ADDRESS), (22, False)),
]


@STATES
def test_views_answer_what_the_tables_hold(ledger, state_of):
    state = state_of()
    answers = [(signature, values, ask(state, signature, *values)) for signature, values, _ in ANSWERS]
    assert answers == ANSWERS


FEES_OF_TOKEN = (
    (
        (12, text(NOBODY), True, False, text(COLLECTOR_ADDRESS)),
        (13, text(long_zero(BARE)), False, False, text(long_zero(TREASURY))),
    ),
    ((1, 50, 2, 0, True, text(COLLECTOR_ADDRESS)),),
    (),
)
FEES_OF_UNIQUE = (
    (),
    (),
    (
        (1, 10, 0, text(NOBODY), True, text(COLLECTOR_ADDRESS)),
        (2, 10, 5, text(TOKEN_ADDRESS), False, text(COLLECTOR_ADDRESS)),
    ),
)
KEYS_OF_TOKEN = (
    (1, (False, text(NOBODY), ED25519, b"", text(NOBODY))),
    (2, (False, text(NOBODY), b"", ECDSA, text(NOBODY))),
    (4, (False, text(long_zero(CONTRACT)), b"", b"", text(NOBODY))),
    (8, (False, text(NOBODY), b"", b"", text(long_zero(CONTRACT)))),
    *((bit, NO_KEY) for bit in (16, 32, 64)),
)
INFO_OF_TOKEN = (
    (
        *("Ledger Gold", "LGD", text(long_zero(TREASURY)), "all of gold", True, 9000, True, KEYS_OF_TOKEN),
        (START // SECOND + 9, text(long_zero(OWNER)), 7_776_000),
    ),
    *(77, False, False, True, *FEES_OF_TOKEN, "0x01"),
)
NO_KEYS = tuple((1 << bit, NO_KEY) for bit in range(7))
INFO_OF_UNIQUE = (
    (
        *("Pictures", "PIC", text(long_zero(TREASURY)), "", False, 0, False, NO_KEYS),
        (START // SECOND + 100, text(NOBODY), 100),
    ),
    *(0, False, True, False, *FEES_OF_UNIQUE, "0x01"),
)
NO_INFO = (
    ("", "", text(NOBODY), "", False, 0, False, NO_KEYS, (0, text(NOBODY), 0)),
    *(0, False, False, False, (), (), (), "0x01"),
)


@STATES
def test_the_structs_of_a_token_have_all_that_is_known_of_it(ledger, state_of):
    state = state_of()
    assert ask(state, INFO, TOKEN_ADDRESS) == (22, INFO_OF_TOKEN)
    assert ask(state, FUNGIBLE, TOKEN_ADDRESS) == (22, (INFO_OF_TOKEN, 4))
    assert ask(state, FEES, TOKEN_ADDRESS) == (22, *FEES_OF_TOKEN)
    assert ask(state, FEES, long_zero(BARE)) == (22, (), (), ())


def test_serial_struct_has_owner_metadata_and_spender(ledger):
    created, spender = START // SECOND, text(long_zero(SPENDER))
    first = (INFO_OF_UNIQUE, 1, text(OWNER_ADDRESS), created, b"\xff", spender)
    assert ask(current(), UNIQUE_INFO, UNIQUE_ADDRESS, 1) == (22, first)
    second = (INFO_OF_UNIQUE, 2, text(long_zero(TREASURY)), created, b"metadata", text(NOBODY))
    assert ask(current(), UNIQUE_INFO, UNIQUE_ADDRESS, 2) == (22, second)


def test_the_structs_of_the_past_are_those_of_that_time(ledger):
    """Of a unique token of the past the serials are counted; the first one came at START + 50."""
    before, after = at(START + 10), at(START + 100)
    (code, (info, *nft)) = ask(after, UNIQUE_INFO, UNIQUE_ADDRESS, 1)
    assert (code, info[1], nft[0]) == (22, 2, 1)
    assert ask(before, UNIQUE_INFO, UNIQUE_ADDRESS, 1)[0] == CODES["INVALID_TOKEN_NFT_SERIAL_NUMBER"]
    assert ask(before, INFO, UNIQUE_ADDRESS)[1][1] == 1


def test_decimals_are_capped_at_the_type_of_the_struct(ledger):
    ledger.entity(3005, type="TOKEN")
    ledger.token(3005, decimals=2**32 - 1)
    assert ask(current(), FUNGIBLE, long_zero(3005))[1][1] == 2**31 - 1


@pytest.mark.parametrize(
    ("network", "ledger_id"),
    [("MAINNET", "0x00"), ("TESTNET", "0x01"), ("PREVIEWNET", "0x02"), ("OTHER", "0x03")],
)
def test_the_ledger_id_is_that_of_the_network(ledger, settings_of, network, ledger_id):
    settings_of({"web3.evm.network": network})
    assert ask(current(), INFO, TOKEN_ADDRESS)[1][-1] == ledger_id


# REFUSALS

OF_TOKENS = [
    "getTokenType(address)",
    "getTokenDefaultFreezeStatus(address)",
    "getTokenDefaultKycStatus(address)",
    EXPIRY,
    FEES,
    FROZEN,
    KYC,
    TOKEN_KEY,
]
OF_TWO = (FROZEN, KYC, TOKEN_KEY)
FREE_WHEN_STATIC = (
    KYC,
    TOKEN_KEY,
    "getTokenDefaultFreezeStatus(address)",
    "getTokenDefaultKycStatus(address)",
)
NOT_TOKENS = (long_zero(DELETED), long_zero(OWNER), OWNER_ADDRESS, UNKNOWN, NOBODY)
NFT = (text(NOBODY), 0, b"", text(NOBODY))
REFUSED = [
    *(
        (signature, (address, *((OWNER,) if signature in OF_TWO else ())), 167, None)
        for signature in OF_TOKENS
        for address in NOT_TOKENS
    ),
    *((INFO, (address,), 167, (NO_INFO,)) for address in NOT_TOKENS),
    *((FUNGIBLE, (address,), 167, ((NO_INFO, 0),)) for address in NOT_TOKENS),
    *(
        (UNIQUE_INFO, (address, serial), 167, ((NO_INFO, serial, *NFT),))
        for serial, address in enumerate(NOT_TOKENS)
    ),
    *((signature, (TOKEN_ADDRESS, UNKNOWN), 15, (False,)) for signature in (FROZEN, KYC)),
    # It has an address of its own.
    (FROZEN, (TOKEN_ADDRESS, long_zero(OWNER)), 15, (False,)),
    *((TOKEN_KEY, (TOKEN_ADDRESS, kind), 44, (NO_KEY,)) for kind in (32, 128, 3)),
]
NAMES = {number: name for name, number in CODES.items()}


@pytest.mark.parametrize(("signature", "values", "code", "rest"), REFUSED)
def test_view_returns_a_code_or_reverts_in_a_static_frame(ledger, signature, values, code, rest):
    result = run(current(), SERVICE, data_of(signature, *values))
    assert (result.status, result.child_failures) == (Status.SUCCESS, (NAMES[code],))
    assert result.output[:32] == words(code)
    answer = decode(parameters_of(canonical(RETURNS[signature])), result.output)
    if rest is None:
        assert not any(part for part in answer[1:] if part not in (NO_KEY, (0, text(NOBODY), 0)))
    else:
        assert answer[1:] == rest
    static = run(current(), SERVICE, data_of(signature, *values), static=True)
    if signature == FEES:
        assert static.output == encode(parameters_of(canonical(RETURNS[FEES])), (22, [], [], []))
        return
    assert (static.status, static.output) == (Status.REVERT, NAMES[code].encode())
    assert (static.execution_gas == 0) is (signature in FREE_WHEN_STATIC)


@pytest.mark.parametrize(("token", "serial"), [(UNIQUE, 0), (UNIQUE, 3), (UNIQUE, 9), (TOKEN, 1)])
def test_a_missing_serial_has_the_information_of_its_token(ledger, token, serial):
    answer = ask(current(), UNIQUE_INFO, long_zero(token), serial)
    info = ask(current(), INFO, long_zero(token))
    assert answer == (225, (info[1], serial, text(long_zero(TREASURY)), 0, b"", text(NOBODY)))
    data = data_of(UNIQUE_INFO, long_zero(token), serial)
    static = run(current(), SERVICE, data, static=True)
    assert (static.status, static.output) == (Status.REVERT, b"INVALID_TOKEN_NFT_SERIAL_NUMBER")


REVERTED = [
    *(
        (signature, (address, *values), "INVALID_TOKEN_ID", None)
        for signature, values in ((GET_APPROVED, (1,)), (FOR_ALL, (OWNER_ADDRESS, long_zero(SPENDER))))
        for address in (UNKNOWN, long_zero(DELETED), OWNER_ADDRESS)
    ),
    (*(ALLOWANCE, (TOKEN_ADDRESS, UNKNOWN, OWNER_ADDRESS)), *("INVALID_ALLOWANCE_OWNER_ID", None)),
    *(
        (GET_APPROVED, (UNIQUE_ADDRESS, serial), "INVALID_TOKEN_NFT_SERIAL_NUMBER", None)
        for serial in (0, 3, 9, 1 << 200)
    ),
    (GET_APPROVED, (TOKEN_ADDRESS, 1), "INVALID_TOKEN_NFT_SERIAL_NUMBER", "INVALID_TOKEN_ID"),
    (FOR_ALL, (TOKEN_ADDRESS, OWNER_ADDRESS, long_zero(SPENDER)), "INVALID_TOKEN_ID", None),
]


@pytest.mark.parametrize(("signature", "values", "code", "code_in_static_frame"), REVERTED)
def test_views_of_allowances_revert(ledger, signature, values, code, code_in_static_frame):
    result = run(current(), SERVICE, data_of(signature, *values))
    assert (result.status, result.output, result.child_failures) == (Status.REVERT, code.encode(), (code,))
    static = run(current(), SERVICE, data_of(signature, *values), static=True)
    assert (static.status, static.output) == (Status.REVERT, (code_in_static_frame or code).encode())


@pytest.mark.parametrize(
    "token", [UNIQUE_ADDRESS, UNKNOWN, long_zero(DELETED)], ids=["unique", "unknown", "deleted"]
)
def test_allowance_of_another_token_is_nothing(ledger, token):
    data = data_of(ALLOWANCE, token, OWNER_ADDRESS, long_zero(SPENDER))
    assert run(current(), SERVICE, data).output == words(22, 0)
    static = run(current(), SERVICE, data, static=True)
    assert (static.status, static.output) == (Status.REVERT, b"INVALID_TOKEN_ID")
    # That of the wrong type leaves no child.
    assert static.child_failures == (() if token == UNIQUE_ADDRESS else ("INVALID_TOKEN_ID",))


def test_allowance_of_a_unique_token_is_not_counted(ledger):
    """A call may have 50 children."""
    one = Step(SERVICE, data_of(ALLOWANCE, UNIQUE_ADDRESS, OWNER_ADDRESS, long_zero(SPENDER)), gas=100_000)
    contract(ledger, 5002, script(*[one] * 51))
    result = run(current(), long_zero(5002), b"", gas=15_000_000)
    assert [outcome.succeeded for outcome in outcomes(result)] == [True] * 51


@pytest.mark.parametrize("function", VIEWS, ids=lambda function: function.signature)
def test_arguments_that_can_not_be_read_halt(ledger, function):
    for data in (b"", words(TOKEN)[:-1], words(1 << 160, 1, 1)):
        result = run(current(), SERVICE, function.selector + data)
        assert (result.status, result.halt) == (Status.HALT, Halt.PRECOMPILE)


# THE CALLER


def test_a_token_says_whether_the_caller_is_associated(ledger):
    ledger.holding(TOKEN, account=CALLER)
    for token, associated in ((TOKEN, True), (UNIQUE, False), (BARE, False)):
        assert run(current(), long_zero(token), data_of("isAssociated()")).output == words(associated)


def test_unknown_token_has_no_associations(ledger):
    for token in (UNKNOWN, long_zero(DELETED), OWNER_ADDRESS):
        inner = data_of("isAssociated()")
        data = data_of("redirectForToken(address,bytes)", token, 64, len(inner)) + inner.ljust(32, b"\0")
        assert run(current(), SERVICE, data).output == b"INVALID_TOKEN_ID"


def test_contract_sees_its_own_changes(ledger):
    code = script(
        Step(long_zero(BARE), data_of("isAssociated()"), "STATICCALL"),
        Step(long_zero(BARE), data_of("associate()")),
        Step(long_zero(BARE), data_of("isAssociated()"), "STATICCALL"),
        Step(SERVICE, data_of("isToken(address)", long_zero(BARE)), "STATICCALL"),
        Step(SERVICE, data_of("getTokenType(address)", UNKNOWN), "STATICCALL"),
    )
    contract(ledger, 5005, code)
    found = outcomes(run(current(), long_zero(5005), b"", gas=5_000_000))
    assert found == [
        (True, words(0)),
        (True, words(22)),
        (True, words(1)),
        (True, words(22, 1)),
        (False, b""),
    ]


# GAS

CALLS: list[tuple[Any, ...]] = [
    ("isToken(address)", TOKEN_ADDRESS),
    ("getTokenType(address)", TOKEN_ADDRESS),
    (FROZEN, TOKEN_ADDRESS, OWNER_ADDRESS),
    (KYC, TOKEN_ADDRESS, OWNER_ADDRESS),
    ("getTokenDefaultFreezeStatus(address)", TOKEN_ADDRESS),
    ("getTokenDefaultKycStatus(address)", TOKEN_ADDRESS),
    (EXPIRY, TOKEN_ADDRESS),
    (TOKEN_KEY, TOKEN_ADDRESS, 1),
    (INFO, TOKEN_ADDRESS),
    (FUNGIBLE, TOKEN_ADDRESS),
    (UNIQUE_INFO, UNIQUE_ADDRESS, 1),
    (FEES, UNIQUE_ADDRESS),
    (ALLOWANCE, TOKEN_ADDRESS, OWNER_ADDRESS, long_zero(SPENDER)),
    (GET_APPROVED, UNIQUE_ADDRESS, 1),
    (FOR_ALL, UNIQUE_ADDRESS, OWNER_ADDRESS, long_zero(SPENDER)),
]


def test_views_have_one_price_also_when_they_are_refused(ledger):
    for call in (*CALLS, (INFO, UNKNOWN), (GET_APPROVED, TOKEN_ADDRESS, 1)):
        result = run(current(), SERVICE, data_of(*call))
        assert result.execution_gas == WITHOUT_FILES.gas_of_view == 2607
