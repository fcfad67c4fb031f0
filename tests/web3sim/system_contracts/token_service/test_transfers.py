"""Transfers of units, serials and hbar by the functions that name a token."""

import pytest

from mirror.core.values.hapi.result_codes import NAMES
from tests.build import START
from tests.web3sim.state.states import at, current, long_zero
from tests.web3sim.system_contracts.calls import words
from tests.web3sim.system_contracts.simulation import Simulation, logged
from tests.web3sim.system_contracts.token_service.moving import (
    ALICE,
    BOB,
    CALLER,
    CAROL,
    CODES,
    DAVE,
    ERIN,
    FRANK,
    FREEZABLE,
    KEY,
    KNOWN,
    NEW_ADDRESS,
    OTHER_CONTRACT,
    PAUSED,
    TOKEN,
    TRANSFER_FROM,
    TRANSFER_FROM_NFT,
    TRANSFER_NFT,
    TRANSFER_NFTS,
    TRANSFER_TOKEN,
    TRANSFER_TOKENS,
    TREASURY,
    UNIQUE,
    V1,
    V2,
    people_and_tokens,
    serials,
    units,
    zero,
)
from web3sim.engine.interface import Halt
from web3sim.state.tables.rows import Associations

KEYLESS, NO_KEY = 2007, b"\x32\x00"


@pytest.fixture
def ledger(build):
    return people_and_tokens(build)


# WHAT MOVES


def test_units_move_between_accounts(ledger):
    calls = Simulation()
    answer = calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE, BOB), 4)
    assert (answer.output, answer.child) == (words(22), "SUCCESS")
    assert calls.balances(TOKEN, ALICE, BOB) == [6, 4]
    assert [logged(log) for log in answer.logs] == [(TOKEN, ALICE, BOB, 4)]


def test_units_move_between_several_accounts_and_the_largest_amounts_are_logged_first(ledger):
    calls = Simulation()
    parties = zero(ALICE, BOB, OTHER_CONTRACT, DAVE)
    ledger.allowance(
        "token", owner=OTHER_CONTRACT, spender=CALLER, token_id=TOKEN, amount=9, amount_granted=9
    )
    answer = calls.ask(TRANSFER_TOKENS, long_zero(TOKEN), parties, [-7, 5, -2, 4])
    assert answer.output == words(22)
    assert calls.balances(TOKEN, ALICE, BOB, OTHER_CONTRACT, DAVE) == [3, 5, 8, 4]
    assert [logged(log) for log in answer.logs] == [
        (TOKEN, ALICE, BOB, 5),
        (TOKEN, ALICE, DAVE, 2),
        (TOKEN, OTHER_CONTRACT, DAVE, 2),
    ]


@pytest.mark.parametrize("state_of", [current, lambda: at(START + 100)], ids=["now", "then"])
def test_serials_move_between_accounts(ledger, state_of):
    calls = Simulation(state=state_of())
    answer = calls.ask(TRANSFER_NFT, *zero(UNIQUE, ALICE, BOB), 1)
    assert answer.output == words(22)
    assert [logged(log) for log in answer.logs] == [(UNIQUE, ALICE, BOB, 1)]
    assert calls.owner(UNIQUE, 1) == BOB
    assert calls.nft(UNIQUE, 1).spender is None
    assert calls.balances(UNIQUE, ALICE, BOB) == [0, 1]
    lists = zero(TREASURY, TREASURY), zero(ALICE, BOB)
    assert calls.code(TRANSFER_NFTS, long_zero(UNIQUE), *lists, [2, 3]) == "SUCCESS"
    assert calls.balances(UNIQUE, TREASURY, ALICE, BOB) == [0, 1, 2]


def test_hbar_units_and_serials_move_together(ledger):
    calls = Simulation()
    hbar = ([(long_zero(ALICE), -100, False), (long_zero(BOB), 100, False)],)
    tokens: list[object] = [
        (long_zero(TOKEN), [(long_zero(ALICE), -1, False), (long_zero(BOB), 1, False)], []),
        (long_zero(UNIQUE), [], [(long_zero(ALICE), long_zero(BOB), 1, False)]),
    ]
    answer = calls.ask(V2, hbar, tokens)
    assert answer.output == words(22)
    assert calls.hbars(ALICE, BOB) == [900, 1100]
    assert (calls.balances(TOKEN, BOB), calls.owner(UNIQUE, 1)) == ([1], BOB)
    assert [logged(log) for log in answer.logs] == [(TOKEN, ALICE, BOB, 1), (UNIQUE, ALICE, BOB, 1)]


def test_lists_of_the_same_token_count_together(ledger):
    calls = Simulation()
    lists = [units(TOKEN, (ALICE, -2), (account, 2)) for account in (BOB, DAVE)]
    assert calls.code(V1, lists) == "SUCCESS"
    assert calls.balances(TOKEN, ALICE, BOB, DAVE) == [6, 2, 2]


def test_nothing_at_all_may_be_moved(ledger):
    calls = Simulation()
    assert calls.code(V1, []) == "SUCCESS"
    assert calls.code(TRANSFER_TOKEN, *zero(TOKEN, ALICE, BOB), 0) == "SUCCESS"
    assert calls.balances(TOKEN, ALICE, BOB) == [10, 0]


# RECEIVERS


def test_a_receiver_is_associated_by_the_transfer_if_it_may_be(ledger):
    calls = Simulation()
    assert calls.code(TRANSFER_TOKEN, *zero(TOKEN, ALICE, DAVE), 3) == "SUCCESS"
    relationship = calls.relationship(TOKEN, DAVE)
    assert (relationship.balance, relationship.automatic) == (3, True)
    assert calls.overlay.associations(DAVE) == Associations(1, 1)


@pytest.mark.parametrize(
    ("token", "receiver", "code"),
    [
        (TOKEN, CAROL, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (TOKEN, ERIN, "NO_REMAINING_AUTOMATIC_ASSOCIATIONS"),
        (FREEZABLE, DAVE, "ACCOUNT_FROZEN_FOR_TOKEN"),
        (KNOWN, DAVE, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"),
        (FREEZABLE, BOB, "ACCOUNT_FROZEN_FOR_TOKEN"),
        (KNOWN, BOB, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"),
        (TOKEN, 2999, "INVALID_ALIAS_KEY"),
        (TOKEN, TOKEN, "INVALID_ALIAS_KEY"),
    ],
)
def test_a_receiver_has_to_be_able_to_hold_the_token(ledger, token, receiver, code):
    calls = Simulation()
    assert calls.code(TRANSFER_TOKEN, *zero(token, ALICE, receiver), 3) == code
    assert calls.balances(token, ALICE) == [10 if token == TOKEN else 5]


def test_an_account_comes_into_being_at_the_address_that_gets_something(ledger):
    calls = Simulation()
    calls.overlay.state.load([NEW_ADDRESS])
    gas = calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE), NEW_ADDRESS, 3)
    assert gas.output == words(22)
    created = calls.overlay.account_at(NEW_ADDRESS)
    assert created is not None
    assert (created.max_automatic_associations, created.key) == (-1, b"\x32\x00")
    assert calls.balances(TOKEN, created.id) == [3]
    hbar = ([(long_zero(ALICE), -5, False), (NEW_ADDRESS, 5, False)],)
    assert calls.code(V2, hbar, []) == "SUCCESS"
    assert calls.hbars(created.id) == [5]


@pytest.mark.parametrize("number", [1, 98, 750])
def test_accounts_of_the_network_itself_get_nothing(ledger, number):
    ledger.entity(number)
    for signature, arguments in (
        (TRANSFER_TOKEN, (*zero(TOKEN, ALICE, number), 1)),
        (TRANSFER_NFT, (*zero(UNIQUE, ALICE, number), 1)),
        (V2, (([(long_zero(ALICE), -1, False), (long_zero(number), 1, False)],), [])),
    ):
        answer = Simulation().ask(signature, *arguments)
        expected = words(CODES["INVALID_RECEIVING_NODE_ACCOUNT"])
        assert (answer.reverted, answer.output) == (True, expected)


def test_the_accounts_of_rewards_neither_give_nor_get_tokens(ledger):
    for number in (800, 801):
        ledger.entity(number, balance=50)
        ledger.holding(TOKEN, account=number, balance=5)
    assert Simulation().code(TRANSFER_TOKEN, *zero(TOKEN, 800, BOB), 1) == (
        "INVALID_FULL_PREFIX_SIGNATURE_FOR_PRECOMPILE"
    )
    assert Simulation().code(TRANSFER_TOKEN, *zero(TOKEN, ALICE, 801), 1) == "INVALID_ACCOUNT_ID"
    hbar = ([(long_zero(ALICE), -1, False), (long_zero(800), 1, False)],)
    assert Simulation().code(V2, hbar, []) == "SUCCESS"


# REFUSALS


@pytest.mark.parametrize(
    ("lists", "code"),
    [
        ([units(TOKEN, (ALICE, -2), (BOB, 1))], "TRANSFERS_NOT_ZERO_SUM_FOR_TOKEN"),
        ([units(TOKEN, (ALICE, -2), (ALICE, 2))], "ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS"),
        ([units(TOKEN)], "EMPTY_TOKEN_TRANSFER_ACCOUNT_AMOUNTS"),
        ([serials(UNIQUE, (ALICE, ALICE, 1))], "ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS"),
        ([serials(UNIQUE, (ALICE, BOB, 0))], "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
        ([serials(UNIQUE, (ALICE, BOB, 1), (ALICE, CAROL, 1))], "INVALID_ACCOUNT_AMOUNTS"),
        ([units(TOKEN, (ALICE, -1), (BOB, 1)), serials(TOKEN, (ALICE, BOB, 1))], "INVALID_ACCOUNT_AMOUNTS"),
        ([units(0, (ALICE, -1), (BOB, 2))], "INVALID_TOKEN_ID"),
        ([serials(0, (ALICE, BOB, 0))], "INVALID_TOKEN_ID"),
        ([units(TOKEN, (KEYLESS, -1), (BOB, 1))], "INVALID_ACCOUNT_ID"),
        ([serials(UNIQUE, (KEYLESS, BOB, 5))], "INVALID_ACCOUNT_ID"),
        ([units(2999, (ALICE, -1), (BOB, 1))], "INVALID_TOKEN_ID"),
        ([units(ALICE, (ALICE, -1), (BOB, 1))], "INVALID_TOKEN_ID"),
        ([units(PAUSED, (ALICE, -1), (BOB, 1))], "TOKEN_IS_PAUSED"),
        ([units(TOKEN, (2999, -1), (BOB, 1))], "INVALID_ACCOUNT_ID"),
        ([units(TOKEN, (2999, 0), (BOB, 0))], "INVALID_ACCOUNT_ID"),
        ([serials(UNIQUE, (2999, BOB, 1))], "INVALID_ACCOUNT_ID"),
        ([units(TOKEN, (ALICE, -11), (BOB, 11))], "INSUFFICIENT_TOKEN_BALANCE"),
        ([units(TOKEN, (CAROL, -1), (BOB, 1))], "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        ([units(UNIQUE, (ALICE, -1), (BOB, 1))], "ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON"),
        ([serials(TOKEN, (ALICE, BOB, 1))], "INVALID_NFT_ID"),
        ([serials(UNIQUE, (ALICE, BOB, 9))], "INVALID_NFT_ID"),
        ([serials(UNIQUE, (ALICE, BOB, 2))], "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"),
        ([serials(UNIQUE, (BOB, ALICE, 2))], "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"),
        ([serials(UNIQUE, (CAROL, BOB, 1))], "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        ([serials(UNIQUE, (ALICE, CAROL, 1))], "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (
            [units(TOKEN, *((ALICE, -10), *((account, 1) for account in range(4001, 4011))))],
            "TOKEN_TRANSFER_LIST_SIZE_LIMIT_EXCEEDED",
        ),
        ([serials(UNIQUE, *((ALICE, BOB, serial) for serial in range(1, 12)))], "BATCH_SIZE_LIMIT_EXCEEDED"),
    ],
)
def test_transfers_of_tokens_are_refused(ledger, lists, code):
    for number in range(4001, 4011):
        ledger.entity(number)
    ledger.entity(KEYLESS, key=NO_KEY)
    ledger.holding(TOKEN, account=KEYLESS, balance=5)
    calls = Simulation()
    answer = calls.ask(V1, lists)
    assert (NAMES[int.from_bytes(answer.output)], answer.child) == (code, code)
    assert calls.balances(TOKEN, ALICE, BOB) == [10, 0]


@pytest.mark.parametrize(
    ("hbar", "code"),
    [
        ([(ALICE, -1, False), (BOB, 2, False)], "INVALID_ACCOUNT_AMOUNTS"),
        ([(ALICE, -1, False), (ALICE, 1, False)], "SUCCESS"),
        ([(2999, -1, False), (BOB, 1, False)], "INVALID_ACCOUNT_ID"),
        ([(ALICE, -1, False), (2999, 1, False)], "INVALID_ALIAS_KEY"),
        ([(ALICE, -1001, False), (BOB, 1001, False)], "INSUFFICIENT_ACCOUNT_BALANCE"),
        ([(OTHER_CONTRACT, -1, False), (BOB, 1, False)], "SUCCESS"),
        ([(ALICE, -1, True), (BOB, 1, False)], "SPENDER_DOES_NOT_HAVE_ALLOWANCE"),
        ([(CAROL, -8, True), (BOB, 8, False)], "AMOUNT_EXCEEDS_ALLOWANCE"),
        ([(CAROL, -7, True), (BOB, 7, False)], "SUCCESS"),
        ([(ALICE, -1, False), (FRANK, 1, False)], "SUCCESS"),
        (
            [(ALICE, -10, False), *((account, 1, False) for account in range(4001, 4011))],
            "TRANSFER_LIST_SIZE_LIMIT_EXCEEDED",
        ),
    ],
)
def test_transfers_of_hbar_are_refused(ledger, hbar, code):
    for number in range(4001, 4011):
        ledger.entity(number)
    ledger.allowance("crypto", owner=CAROL, spender=CALLER, amount=7, amount_granted=7)
    calls = Simulation()
    adjustments = [(long_zero(account), amount, approved) for account, amount, approved in hbar]
    assert calls.code(V2, (adjustments,), []) == code
    if hbar[0][0] == CAROL:
        assert calls.overlay.hbar_allowance(CAROL, CALLER) == (0 if code == "SUCCESS" else 7)


def test_whoever_has_no_key_yet_gives_nothing_but_by_an_allowance(ledger):
    ledger.entity(KEYLESS, key=NO_KEY, evm_address=NEW_ADDRESS)
    ledger.holding(TOKEN, account=KEYLESS, balance=5)
    ledger.allowance("token", owner=KEYLESS, spender=CALLER, token_id=TOKEN, amount=5, amount_granted=5)
    calls = Simulation()
    arguments = long_zero(TOKEN), NEW_ADDRESS, long_zero(BOB), 1
    assert calls.ask(TRANSFER_TOKEN, *arguments).halt is Halt.PRECOMPILE
    assert calls.code(TRANSFER_FROM, *arguments) == "SUCCESS"
    calls.sender = KEYLESS
    answer = calls.ask("transfer(address,uint256)", long_zero(BOB), 1, token=TOKEN)
    assert answer.halt is Halt.PRECOMPILE


def test_what_can_not_be_meant_halts(ledger):
    calls = Simulation()
    for signature, arguments in (
        (TRANSFER_TOKEN, (*zero(TOKEN, ALICE, BOB), -1)),
        (TRANSFER_TOKENS, (long_zero(TOKEN), zero(ALICE, BOB), [-1])),
        (TRANSFER_NFTS, (long_zero(UNIQUE), zero(ALICE), zero(BOB, BOB), [1])),
        (TRANSFER_FROM, (*zero(TOKEN, ALICE, BOB), 1 << 63)),
        (TRANSFER_FROM_NFT, (*zero(UNIQUE, ALICE, BOB), 1 << 63)),
    ):
        assert calls.ask(signature, *arguments).halt is Halt.PRECOMPILE


@pytest.mark.parametrize("address", [b"\0" * 12 + b"\xff" * 8, b"\xff" * 20, bytes(20)], ids=bytes.hex)
def test_addresses_where_nothing_can_be_are_refused(ledger, address):
    calls = Simulation()
    somebody = long_zero(ALICE), long_zero(BOB)
    assert calls.code(TRANSFER_TOKEN, address, *somebody, 1) == "INVALID_TOKEN_ID"
    assert calls.code(TRANSFER_TOKEN, long_zero(TOKEN), address, long_zero(BOB), 1) == "INVALID_ACCOUNT_ID"
    if address[0] == 0:
        code = calls.code(TRANSFER_TOKEN, long_zero(TOKEN), long_zero(ALICE), address, 1)
        assert code == "INVALID_ALIAS_KEY"
    reject = "rejectTokens(address,address[],NftID[])"
    assert calls.code(reject, long_zero(ALICE), [address], [(address, 1)]) == "INVALID_TOKEN_ID"
    assert calls.code(reject, long_zero(ALICE), [], [(address, 1)]) == "INVALID_TOKEN_ID"


def test_deleted_token_differs_from_an_unknown_one(ledger):
    ledger.entity(3009, type="TOKEN", key=KEY)
    ledger.token(3009, type="NON_FUNGIBLE_UNIQUE")
    ledger.holding(3009, account=ALICE, balance=1)
    ledger.nft(3009, 1, account=ALICE)
    calls = Simulation()
    assert calls.code("deleteToken(address)", long_zero(3009)) == "SUCCESS"
    assert calls.code(TRANSFER_NFT, *zero(3009, ALICE, BOB), 1) == "TOKEN_WAS_DELETED"
    assert calls.code(TRANSFER_TOKEN, *zero(3009, ALICE, BOB), 1) == "TOKEN_WAS_DELETED"


def test_only_the_last_bytes_of_a_token_s_address_count(ledger):
    address = b"\xff" * 12 + long_zero(TOKEN)[12:]
    assert Simulation().code(TRANSFER_TOKEN, address, *zero(ALICE, BOB), 1) == "SUCCESS"
