"""Minting, burning and wiping tokens in a call."""

from typing import Any

import pytest
from eth_abi.abi import encode

from mirror.core.values.hapi.result_codes import NAMES
from tests.build import START
from tests.web3sim.state.states import at, current, long_zero
from tests.web3sim.system_contracts.calls import SERVICE, data_of, run, words
from tests.web3sim.system_contracts.scripts import Step
from tests.web3sim.system_contracts.token_service.ledger import (
    CODES,
    FOREIGN,
    HOLDER,
    PLAIN,
    STRANGER,
    SUCCESS,
    TOKEN,
    TREASURY,
    UNIQUE,
    ask,
    codes,
    people,
    scripted,
    step,
    token,
)
from web3sim.engine.interface import CallResult, Halt, Status
from web3sim.state.ledger import LedgerState
from web3sim.system_contracts.abi import one_string
from web3sim.system_contracts.function_signatures import parameters_of, selector_of

MINT, MINT_V1 = "mintToken(address,int64,bytes[])", "mintToken(address,uint64,bytes[])"
BURN, BURN_V1 = "burnToken(address,int64,int64[])", "burnToken(address,uint64,int64[])"
WIPE, WIPE_V1 = "wipeTokenAccount(address,address,int64)", "wipeTokenAccount(address,address,uint32)"
WIPE_SERIALS = "wipeTokenAccountNFT(address,address,int64[])"
BALANCE_OF, OWNER_OF, TOKEN_URI = "balanceOf(address)", "ownerOf(uint256)", "tokenURI(uint256)"
SUPPLY = "totalSupply()"
PAUSED, FINITE, FROZEN, NO_KYC, SIGNED_BY_OTHER, TREASURY_GONE, UNASSOCIATED = range(3004, 3011)
UNIQUE_FINITE = 3011
HIGHEST = (1 << 63) - 1


@pytest.fixture
def ledger(build):
    """Serials 1 and 2 are the treasury's, 3 and 4 the holder's; 5 is burned."""
    people(build)
    token(build, TOKEN, total_supply=100)
    token(build, UNIQUE, type="NON_FUNGIBLE_UNIQUE", total_supply=4)
    token(build, PLAIN, supply_key=None, wipe_key=None, total_supply=5)
    token(build, PAUSED, pause_status="PAUSED")
    token(build, FINITE, supply_type="FINITE", max_supply=5, total_supply=4)
    token(build, FROZEN)
    token(build, NO_KYC)
    token(build, SIGNED_BY_OTHER, supply_key=FOREIGN, wipe_key=FOREIGN, pause_status="PAUSED")
    token(build, TREASURY_GONE, treasury_account_id=2998)
    token(build, UNASSOCIATED)
    token(build, UNIQUE_FINITE, type="NON_FUNGIBLE_UNIQUE", supply_type="FINITE", max_supply=1)
    for number, balance in ((TOKEN, 40), (UNIQUE, 2), (PLAIN, 5), (FINITE, 4), (UNIQUE_FINITE, 0)):
        build.holding(number, account=TREASURY, balance=balance)
    build.holding(TREASURY_GONE, account=2998)
    for number, columns in ((FROZEN, {"freeze_status": 1}), (NO_KYC, {"kyc_status": 2})):
        for account in (TREASURY, HOLDER):
            build.holding(number, account=account, **columns)
    for number, balance in ((TOKEN, 60), (UNIQUE, 2), (PLAIN, 0)):
        build.holding(number, account=HOLDER, balance=balance)
    for serial_number, owner in enumerate((None, TREASURY, HOLDER, HOLDER), start=1):
        build.nft(UNIQUE, serial_number, account=owner)
    build.nft(UNIQUE, 5, account=None, deleted=True)
    return build


def data(signature: str, *arguments: Any) -> bytes:
    return selector_of(signature) + encode(parameters_of(signature), arguments)


def service(signature: str, *arguments: Any) -> Step:
    return Step(SERVICE, data(signature, *arguments))


def call(signature: str, *arguments: Any, state: LedgerState | None = None, **options: Any) -> CallResult:
    return run(current() if state is None else state, SERVICE, data(signature, *arguments), **options)


def code(signature: str, *arguments: Any) -> str:
    """The code of an answer, in which nothing else is when the ledger refused."""
    result = call(signature, *arguments, gas=5_000_000)
    assert result.status is Status.SUCCESS
    name = NAMES[int.from_bytes(result.output[:32])]
    if name != "SUCCESS":
        more = {"mint": (0, 96, 0), "burn": (0,)}.get(signature[:4], ())
        assert result.output == words(CODES[name], *more)
        assert (result.child_failures, result.logs) == ((name,), ())
    return name


# MINT


@pytest.mark.parametrize("signature", [MINT, MINT_V1])
def test_units_are_minted_for_the_treasury(ledger, signature):
    found = scripted(
        ledger,
        service(signature, long_zero(TOKEN), 30, []),
        ask(TOKEN, SUPPLY),
        ask(TOKEN, BALANCE_OF, long_zero(TREASURY)),
        service(signature, long_zero(TOKEN), 0, []),
    )
    assert codes(found) == [SUCCESS, 130, 70, SUCCESS]
    assert found[0].output == words(SUCCESS, 130, 96, 0)
    assert found[3].output == words(SUCCESS, 130, 96, 0)
    assert call(signature, long_zero(TOKEN), 30, []).logs == ()


@pytest.mark.parametrize("signature", [MINT, MINT_V1])
def test_serials_are_minted_for_the_treasury(ledger, signature):
    """Their numbers follow those of all serials there ever were."""
    found = scripted(
        ledger,
        service(signature, long_zero(UNIQUE), 0, [b"one", b"two"]),
        ask(UNIQUE, SUPPLY),
        ask(UNIQUE, BALANCE_OF, long_zero(TREASURY)),
        ask(UNIQUE, OWNER_OF, 7),
        ask(UNIQUE, TOKEN_URI, 7),
        service(signature, long_zero(UNIQUE), 0, [b""]),
    )
    assert codes(found)[:4] == [SUCCESS, 6, 4, TREASURY]
    assert found[0].output == words(SUCCESS, 6, 96, 2, 6, 7)
    assert found[4].output == one_string(b"two")
    assert found[5].output == words(SUCCESS, 7, 96, 1, 8)


@pytest.mark.parametrize(
    ("number", "amount", "metadata", "expected"),
    [
        (FINITE, 1, [], "SUCCESS"),
        (UNIQUE_FINITE, 0, [b"a"], "SUCCESS"),
        (UNIQUE, 0, [b"m" * 100] * 10, "SUCCESS"),
        # Metadata of units count for nothing.
        (TOKEN, 0, [b"a"], "SUCCESS"),
        (3999, 1, [b"a"], "INVALID_TRANSACTION_BODY"),
        (3999, -1, [], "INVALID_TOKEN_MINT_AMOUNT"),
        (3999, 1, [], "INVALID_TOKEN_ID"),
        (HOLDER, 1, [], "INVALID_TOKEN_ID"),
        (SIGNED_BY_OTHER, 0, [b"a"], "TOKEN_IS_PAUSED"),
        (PAUSED, 0, [b"m" * 101] * 11, "BATCH_SIZE_LIMIT_EXCEEDED"),
        (PAUSED, 0, [b"", b"m" * 101], "METADATA_TOO_LONG"),
        (PAUSED, 1, [], "TOKEN_IS_PAUSED"),
        (PLAIN, 1, [], "TOKEN_HAS_NO_SUPPLY_KEY"),
        (UNASSOCIATED, 1, [], "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (FROZEN, 1, [], "ACCOUNT_FROZEN_FOR_TOKEN"),
        (NO_KYC, 1, [], "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"),
        (UNIQUE, 0, [], "INVALID_TOKEN_MINT_METADATA"),
        (UNIQUE, 1, [], "INVALID_TOKEN_MINT_METADATA"),
        (TOKEN, HIGHEST - 99, [], "INVALID_TOKEN_MINT_AMOUNT"),
        (FINITE, 2, [], "TOKEN_MAX_SUPPLY_REACHED"),
        (UNIQUE_FINITE, 0, [b"a", b"b"], "TOKEN_MAX_SUPPLY_REACHED"),
        (TREASURY_GONE, 1, [], "INVALID_TREASURY_ACCOUNT_FOR_TOKEN"),
    ],
)
def test_minting_is_refused_in_the_networks_order(ledger, number, amount, metadata, expected):
    assert code(MINT, long_zero(number), amount, metadata) == expected
    if amount >= 0:
        assert code(MINT_V1, long_zero(number), amount, metadata) == expected


def test_serials_end_with_32_bits(ledger):
    ledger.nft(UNIQUE, 0xFFFF_FFFE, account=HOLDER)
    assert code(MINT, long_zero(UNIQUE), 0, [b"a", b"b"]) == "SERIAL_NUMBER_LIMIT_REACHED"
    assert code(MINT, long_zero(UNIQUE), 0, [b"a"]) == "SUCCESS"


def test_an_amount_that_the_ledger_can_not_count_halts(ledger):
    for signature in (MINT_V1, BURN_V1):
        assert call(signature, long_zero(TOKEN), 1 << 63, []).halt is Halt.PRECOMPILE


# BURN


@pytest.mark.parametrize("signature", [BURN, BURN_V1])
def test_units_of_the_treasury_are_burned(ledger, signature):
    found = scripted(
        ledger,
        service(signature, long_zero(TOKEN), 30, []),
        ask(TOKEN, SUPPLY),
        ask(TOKEN, BALANCE_OF, long_zero(TREASURY)),
        service(signature, long_zero(TOKEN), 11, []),
        service(signature, long_zero(TOKEN), 10, []),
    )
    assert codes(found) == [SUCCESS, 70, 10, 178, SUCCESS]
    assert [found[index].output for index in (0, 3, 4)] == [
        words(SUCCESS, 70), words(178, 0), words(SUCCESS, 60)
    ]  # fmt: skip
    # Serials of units count for nothing.
    assert call(signature, long_zero(TOKEN), 30, [1]).output == words(SUCCESS, 70)


@pytest.mark.parametrize("signature", [BURN, BURN_V1])
def test_serials_of_the_treasury_are_burned(ledger, signature):
    burning = service(signature, long_zero(UNIQUE), 5, [2, 1, 2])
    found = scripted(
        ledger,
        burning,
        ask(UNIQUE, SUPPLY),
        ask(UNIQUE, BALANCE_OF, long_zero(TREASURY)),
        ask(UNIQUE, OWNER_OF, 1),
        burning,
    )
    assert codes(found) == [SUCCESS, 2, 0, b"", 226]
    assert found[0].output == words(SUCCESS, 2)


@pytest.mark.parametrize(
    ("number", "amount", "serials", "expected"),
    [
        (TOKEN, 0, [], "SUCCESS"),
        (TOKEN, 40, [], "SUCCESS"),
        (3999, -1, [], "INVALID_TOKEN_BURN_AMOUNT"),
        (UNIQUE, 0, [1, 0], "INVALID_NFT_ID"),
        (3999, 1, [], "INVALID_TOKEN_ID"),
        (SIGNED_BY_OTHER, 1, [], "TOKEN_IS_PAUSED"),
        (UNIQUE, 0, list(range(1, 12)), "BATCH_SIZE_LIMIT_EXCEEDED"),
        (PAUSED, 1, [], "TOKEN_IS_PAUSED"),
        (PLAIN, 1, [], "TOKEN_HAS_NO_SUPPLY_KEY"),
        (UNASSOCIATED, 1, [], "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (FROZEN, 1, [], "ACCOUNT_FROZEN_FOR_TOKEN"),
        (NO_KYC, 1, [], "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"),
        (UNIQUE, 1, [], "INVALID_TOKEN_BURN_METADATA"),
        (UNIQUE, 0, [1, 9], "INVALID_NFT_ID"),
        (UNIQUE, 0, [5], "INVALID_NFT_ID"),
        (UNIQUE, 0, [1, 3], "TREASURY_MUST_OWN_BURNED_NFT"),
        (TOKEN, 101, [], "INVALID_TOKEN_BURN_AMOUNT"),
        (TREASURY_GONE, 0, [], "INVALID_TREASURY_ACCOUNT_FOR_TOKEN"),
        (TOKEN, 41, [], "INSUFFICIENT_TOKEN_BALANCE"),
    ],
)
def test_burning_is_refused_in_the_networks_order(ledger, number, amount, serials, expected):
    assert code(BURN, long_zero(number), amount, serials) == expected
    if amount >= 0:
        assert code(BURN_V1, long_zero(number), amount, serials) == expected


# WIPE


@pytest.mark.parametrize("signature", [WIPE, WIPE_V1])
def test_units_of_an_account_are_wiped(ledger, signature):
    found = scripted(
        ledger,
        service(signature, long_zero(TOKEN), long_zero(HOLDER), 50),
        ask(TOKEN, SUPPLY),
        ask(TOKEN, BALANCE_OF, long_zero(HOLDER)),
        service(signature, long_zero(TOKEN), long_zero(HOLDER), 11),
        service(signature, long_zero(TOKEN), long_zero(HOLDER), 10),
    )
    assert codes(found) == [SUCCESS, 50, 10, CODES["INVALID_WIPING_AMOUNT"], SUCCESS]
    assert found[0].output == words(SUCCESS)


def test_serials_of_an_account_are_wiped(ledger):
    found = scripted(
        ledger,
        service(WIPE_SERIALS, long_zero(UNIQUE), long_zero(HOLDER), [4, 3, 4]),
        ask(UNIQUE, SUPPLY),
        ask(UNIQUE, BALANCE_OF, long_zero(HOLDER)),
        ask(UNIQUE, OWNER_OF, 3),
        step("dissociateToken(address,address)", long_zero(HOLDER), long_zero(UNIQUE)),
    )
    assert codes(found) == [SUCCESS, 2, 0, b"", SUCCESS]


@pytest.mark.parametrize(
    ("number", "account", "amount", "expected"),
    [
        (TOKEN, HOLDER, 0, "SUCCESS"),
        (TOKEN, HOLDER, 60, "SUCCESS"),
        (3999, 2999, -1, "INVALID_WIPING_AMOUNT"),
        (3999, 2999, 1, "INVALID_TOKEN_ID"),
        (SIGNED_BY_OTHER, HOLDER, 1, "TOKEN_IS_PAUSED"),
        (PAUSED, 2999, 1, "INVALID_ACCOUNT_ID"),
        (PAUSED, HOLDER, 1, "TOKEN_IS_PAUSED"),
        (PLAIN, STRANGER, 1, "TOKEN_HAS_NO_WIPE_KEY"),
        (TOKEN, STRANGER, 1, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (FROZEN, HOLDER, 1, "ACCOUNT_FROZEN_FOR_TOKEN"),
        (NO_KYC, HOLDER, 1, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"),
        (TOKEN, TREASURY, 1, "CANNOT_WIPE_TOKEN_TREASURY_ACCOUNT"),
        (TOKEN, HOLDER, 61, "INVALID_WIPING_AMOUNT"),
        (TOKEN, HOLDER, 101, "INVALID_WIPING_AMOUNT"),
        (UNIQUE, HOLDER, 1, "INVALID_WIPING_AMOUNT"),
    ],
)
def test_wiping_units_is_refused_in_the_networks_order(ledger, number, account, amount, expected):
    assert code(WIPE, long_zero(number), long_zero(account), amount) == expected
    if amount >= 0:
        assert code(WIPE_V1, long_zero(number), long_zero(account), amount) == expected


@pytest.mark.parametrize(
    ("number", "account", "serials", "expected"),
    [
        # Serials of units count for nothing.
        (TOKEN, HOLDER, [1], "SUCCESS"),
        (3999, 2999, [0], "INVALID_NFT_ID"),
        (3999, 2999, [1], "INVALID_TOKEN_ID"),
        (PAUSED, 2999, list(range(1, 12)), "INVALID_ACCOUNT_ID"),
        (PAUSED, HOLDER, list(range(1, 12)), "BATCH_SIZE_LIMIT_EXCEEDED"),
        (UNIQUE, TREASURY, [1], "CANNOT_WIPE_TOKEN_TREASURY_ACCOUNT"),
        (UNIQUE, HOLDER, [], "INVALID_WIPING_AMOUNT"),
        (UNIQUE, HOLDER, [3, 5], "INVALID_NFT_ID"),
        (UNIQUE, HOLDER, [3, 2], "ACCOUNT_DOES_NOT_OWN_WIPED_NFT"),
        (UNIQUE, HOLDER, [1], "ACCOUNT_DOES_NOT_OWN_WIPED_NFT"),
    ],
)
def test_wiping_serials_is_refused_in_the_networks_order(ledger, number, account, serials, expected):
    assert code(WIPE_SERIALS, long_zero(number), long_zero(account), serials) == expected


# WHAT IS COMMON TO ALL


def test_deleted_token_has_its_last_supply(ledger):
    found = scripted(
        ledger,
        step("deleteToken(address)", long_zero(TOKEN)),
        service(MINT, long_zero(TOKEN), 1, []),
        service(BURN, long_zero(TOKEN), 1, []),
        service(WIPE, long_zero(TOKEN), long_zero(HOLDER), 1),
    )
    assert codes(found) == [SUCCESS, 179, 179, 179]


def test_the_supply_of_a_past_block_is_changed(ledger):
    ledger.transaction(START + 50, tokens=[(TOKEN, TREASURY, 40)])
    state = at(START + 100)
    assert call(MINT, long_zero(TOKEN), 2, [], state=state).output == words(SUCCESS, 42, 96, 0)
    assert call(MINT, long_zero(UNIQUE), 0, [b"a"], state=state).output == words(SUCCESS, 5, 96, 1, 6)
    assert call(BURN, long_zero(TOKEN), 41, [], state=state).output == words(
        CODES["INVALID_TOKEN_BURN_AMOUNT"], 0
    )


PRICES = [
    (MINT, (TOKEN, 5, []), 15_284),
    (MINT, (UNIQUE, 0, [b"a"]), 282_889),
    (MINT_V1, (UNIQUE, 0, [b"a", b"b"]), 282_889 + 281_690),
    (BURN, (TOKEN, 5, []), 15_284),
    (BURN_V1, (UNIQUE, 0, [1, 2]), 15_284),
]


@pytest.mark.parametrize(("signature", "arguments", "gas"), PRICES)
def test_they_cost_the_canonical_price_and_halt_in_static_frames(ledger, signature, arguments, gas):
    number, *others = arguments
    assert call(signature, long_zero(number), *others).execution_gas == gas
    assert call(signature, long_zero(PAUSED), *others).execution_gas == gas
    assert call(signature, long_zero(number), *others, static=True).halt is Halt.PRECOMPILE
    assert run(current(), SERVICE, data_of(signature, long_zero(number), 1)).halt is Halt.PRECOMPILE


@pytest.mark.parametrize(
    ("signature", "last"), [(WIPE, 1), (WIPE_V1, 1), (WIPE_SERIALS, [3]), (WIPE_SERIALS, [])]
)
def test_wiping_costs_the_canonical_price_and_halts_in_static_frames(ledger, signature, last):
    arguments = long_zero(UNIQUE if signature == WIPE_SERIALS else TOKEN), long_zero(HOLDER), last
    assert call(signature, *arguments).execution_gas == 15_284
    assert call(signature, *arguments, static=True).halt is Halt.PRECOMPILE
