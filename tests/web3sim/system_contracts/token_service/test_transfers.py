"""Transfers of units, serials and hbar by the functions that name a token."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mirror.values.hapi import ContractID, Key
from mirror.values.result_codes import NAMES
from tests.build import START
from tests.web3sim.rows import contract
from tests.web3sim.state.states import at, current, long_zero
from tests.web3sim.system_contracts.calls import SERVICE, data_of, run, words
from tests.web3sim.system_contracts.simulation import (
    Simulation,
    Step,
    calling_contract,
    encoded_call,
    logged,
    outcomes,
)
from web3sim.engine.interface import Halt, Status
from web3sim.operations.prices import WITHOUT_FILES
from web3sim.state.tables.interface import Associations

TREASURY, ALICE, BOB, CAROL, DAVE, ERIN, FRANK = 1001, 2001, 2002, 2003, 2004, 2005, 2006
CALLER, CONTRACT, OTHER_CONTRACT = 2009, 5001, 5002
TOKEN, UNIQUE, PAUSED, FREEZABLE, KNOWN = 3001, 3002, 3003, 3004, 3005
KEY = Key(ed25519=bytes(range(32))).SerializeToString()
NEW_ADDRESS = bytes.fromhex("830621be5815d8a1cd6f2a96d18013c6ad61c737")
CODES = {name: number for number, name in NAMES.items()}

TRANSFER_TOKEN = "transferToken(address,address,address,int64)"
TRANSFER_TOKENS = "transferTokens(address,address[],int64[])"
TRANSFER_NFT, TRANSFER_NFTS = (
    "transferNFT(address,address,address,int64)",
    "transferNFTs(address,address[],address[],int64[])",
)
TRANSFER_FROM = "transferFrom(address,address,address,uint256)"
TRANSFER_FROM_NFT = "transferFromNFT(address,address,address,uint256)"
V1 = "cryptoTransfer(TokenTransferListV1[])"
V2 = "cryptoTransfer(TransferList,TokenTransferListV2[])"


def contract_key(number):
    return Key(contractID=ContractID(contractNum=number)).SerializeToString()


@pytest.fixture
def ledger(build):
    for number in (TREASURY, ALICE, BOB, CAROL, CALLER):
        build.entity(number, key=KEY, balance=1000)
    build.entity(DAVE, max_automatic_token_associations=-1)
    build.entity(ERIN, max_automatic_token_associations=1)
    build.entity(FRANK, key=contract_key(OTHER_CONTRACT), receiver_sig_required=True)
    for number in (CONTRACT, OTHER_CONTRACT):
        contract(build, number, b"", key=contract_key(number), balance=500)
    for number in (TOKEN, UNIQUE, PAUSED, FREEZABLE, KNOWN):
        build.entity(number, type="TOKEN")
    build.token(TOKEN, total_supply=100)
    build.token(UNIQUE, type="NON_FUNGIBLE_UNIQUE", total_supply=3)
    build.token(PAUSED, pause_status="PAUSED")
    build.token(FREEZABLE, freeze_key=KEY, freeze_default=True, freeze_status=1)
    build.token(KNOWN, kyc_key=KEY, kyc_status=2)
    for number in (ALICE, OTHER_CONTRACT, CONTRACT, FRANK):
        build.holding(TOKEN, account=number, balance=10)
    build.holding(TOKEN, account=BOB)
    build.holding(PAUSED, account=ERIN, automatic_association=True)
    for number in (FREEZABLE, KNOWN):
        build.holding(number, account=ALICE, balance=5, freeze_status=2, kyc_status=1)
        build.holding(number, account=BOB)
    build.holding(UNIQUE, account=TREASURY, balance=2)
    build.holding(UNIQUE, account=ALICE, balance=1)
    build.holding(UNIQUE, account=BOB)
    build.holding(UNIQUE, account=OTHER_CONTRACT, balance=1)
    build.nft(UNIQUE, 1, account=ALICE, spender=CAROL)
    build.nft(UNIQUE, 2, account=TREASURY)
    build.nft(UNIQUE, 3, account=TREASURY)
    build.nft(UNIQUE, 4, account=OTHER_CONTRACT)
    return build


def zero(*numbers):
    return [long_zero(number) for number in numbers]


# WHAT MOVES


def test_units_move_between_accounts(ledger):
    calls = Simulation()
    answer = calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE, BOB), 4)
    assert (answer.output, answer.child_failure) == (words(22), None)
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
        # It wants to be asked, and another contract has its key.
        (TOKEN, FRANK, "INVALID_FULL_PREFIX_SIGNATURE_FOR_PRECOMPILE"),
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
    # It has no key by which it could agree.
    assert calls.code(TRANSFER_TOKEN, long_zero(TOKEN), NEW_ADDRESS, long_zero(BOB), 1) == (
        "SPENDER_DOES_NOT_HAVE_ALLOWANCE"
    )


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
    assert Simulation().code(TRANSFER_TOKEN, *zero(TOKEN, 800, BOB), 1) == "INVALID_ACCOUNT_ID"
    assert Simulation().code(TRANSFER_TOKEN, *zero(TOKEN, ALICE, 801), 1) == "INVALID_ACCOUNT_ID"
    hbar = ([(long_zero(ALICE), -1, False), (long_zero(800), 1, False)],)
    assert Simulation().code(V2, hbar, []) == "SUCCESS"


# REFUSALS


def units(token, *adjustments):
    return (long_zero(token), [(long_zero(account), amount) for account, amount in adjustments], [])


def serials(token, *moves):
    return (long_zero(token), [], [(long_zero(a), long_zero(b), serial) for a, b, serial in moves])


@pytest.mark.parametrize(
    ("lists", "code"),
    [
        ([units(TOKEN, (ALICE, -2), (BOB, 1))], "TRANSFERS_NOT_ZERO_SUM_FOR_TOKEN"),
        ([units(TOKEN, (ALICE, -2), (ALICE, 2))], "ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS"),
        ([units(TOKEN)], "EMPTY_TOKEN_TRANSFER_ACCOUNT_AMOUNTS"),
        ([serials(UNIQUE, (ALICE, ALICE, 1))], "ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS"),
        ([serials(UNIQUE, (ALICE, BOB, 0))], "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
        ([serials(UNIQUE, (ALICE, BOB, 1), (ALICE, CAROL, 1))], "INVALID_ACCOUNT_AMOUNTS"),
        (
            [units(TOKEN, (ALICE, -1), (BOB, 1)), serials(TOKEN, (ALICE, BOB, 1))],
            "INVALID_ACCOUNT_AMOUNTS",
        ),
        ([units(2999, (ALICE, -1), (BOB, 1))], "INVALID_TOKEN_ID"),
        ([units(ALICE, (ALICE, -1), (BOB, 1))], "INVALID_TOKEN_ID"),
        ([units(PAUSED, (ALICE, -1), (BOB, 1))], "TOKEN_IS_PAUSED"),
        ([units(TOKEN, (2999, -1), (BOB, 1))], "INVALID_ACCOUNT_ID"),
        ([units(TOKEN, (2999, 0), (BOB, 0))], "INVALID_ACCOUNT_ID"),
        ([serials(UNIQUE, (2999, BOB, 1))], "INVALID_ACCOUNT_ID"),
        ([units(TOKEN, (ALICE, -11), (BOB, 11))], "INSUFFICIENT_TOKEN_BALANCE"),
        ([units(TOKEN, (CAROL, -1), (BOB, 1))], "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (
            [units(UNIQUE, (ALICE, -1), (BOB, 1))],
            "ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON",
        ),
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
        (
            [serials(UNIQUE, *((ALICE, BOB, serial) for serial in range(1, 12)))],
            "BATCH_SIZE_LIMIT_EXCEEDED",
        ),
        # Another contract's: not signed, so out of an allowance that is not there.
        ([units(TOKEN, (OTHER_CONTRACT, -1), (BOB, 1))], "SPENDER_DOES_NOT_HAVE_ALLOWANCE"),
        ([serials(UNIQUE, (OTHER_CONTRACT, BOB, 4))], "SPENDER_DOES_NOT_HAVE_ALLOWANCE"),
    ],
)
def test_transfers_of_tokens_are_refused(ledger, lists, code):
    for number in range(4001, 4011):
        ledger.entity(number)
    calls = Simulation()
    answer = calls.ask(V1, lists)
    assert (NAMES[int.from_bytes(answer.output)], answer.child_failure) == (code, code)
    assert calls.balances(TOKEN, ALICE, BOB) == [10, 0]


@pytest.mark.parametrize(
    ("hbar", "code"),
    [
        ([(ALICE, -1, False), (BOB, 2, False)], "INVALID_ACCOUNT_AMOUNTS"),
        ([(ALICE, -1, False), (ALICE, 1, False)], "ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS"),
        ([(2999, -1, False), (BOB, 1, False)], "INVALID_ACCOUNT_ID"),
        ([(ALICE, -1, False), (2999, 1, False)], "INVALID_ALIAS_KEY"),
        ([(ALICE, -1001, False), (BOB, 1001, False)], "INSUFFICIENT_ACCOUNT_BALANCE"),
        ([(OTHER_CONTRACT, -1, False), (BOB, 1, False)], "SPENDER_DOES_NOT_HAVE_ALLOWANCE"),
        ([(ALICE, -1, True), (BOB, 1, False)], "SPENDER_DOES_NOT_HAVE_ALLOWANCE"),
        ([(CAROL, -8, True), (BOB, 8, False)], "AMOUNT_EXCEEDS_ALLOWANCE"),
        ([(CAROL, -7, True), (BOB, 7, False)], "SUCCESS"),
        ([(ALICE, -1, False), (FRANK, 1, False)], "INVALID_FULL_PREFIX_SIGNATURE_FOR_PRECOMPILE"),
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
    if code == "SUCCESS":
        assert calls.overlay.hbar_allowance(CAROL, CALLER) == 0


def test_what_can_not_be_meant_halts_or_reverts(ledger):
    calls = Simulation()
    answer = calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE, BOB), -1)
    assert (answer.reverted, answer.output) == (True, b"INVALID_TRANSACTION_BODY")
    for signature, arguments in (
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
    assert calls.code(reject, long_zero(ALICE), [], [(address, 1)]) == "INVALID_NFT_ID"


def test_a_token_that_the_call_has_deleted_is_told_from_one_that_never_was(ledger):
    ledger.entity(3009, type="TOKEN", key=KEY)
    ledger.token(3009, type="NON_FUNGIBLE_UNIQUE")
    ledger.holding(3009, account=ALICE, balance=1)
    ledger.nft(3009, 1, account=ALICE)
    calls = Simulation()
    assert calls.code("deleteToken(address)", long_zero(3009)) == "SUCCESS"
    assert calls.code(TRANSFER_NFT, *zero(3009, ALICE, BOB), 1) == "TOKEN_WAS_DELETED"
    assert calls.code(TRANSFER_TOKEN, *zero(3009, ALICE, BOB), 1) == "TOKEN_WAS_DELETED"


def test_a_key_that_was_taken_off_asks_for_no_kyc_and_freezes_nobody(ledger):
    ledger.entity(3009, type="TOKEN")
    ledger.token(3009, kyc_key=b"\x32\x00", freeze_key=b"\x32\x00", freeze_default=True)
    ledger.holding(3009, account=ALICE, balance=1)
    assert Simulation().code(TRANSFER_TOKEN, *zero(3009, ALICE, DAVE), 1) == "SUCCESS"


# ALLOWANCES


@pytest.fixture
def spender(ledger):
    for owner in (ALICE, OTHER_CONTRACT):
        ledger.allowance("token", owner=owner, spender=CONTRACT, token_id=TOKEN, amount=5, amount_granted=5)
    ledger.allowance("nft", owner=OTHER_CONTRACT, spender=CONTRACT, token_id=UNIQUE)
    return Simulation(sender=CONTRACT)


def test_an_allowance_is_spent(spender):
    assert spender.code(TRANSFER_FROM, *zero(TOKEN, ALICE, BOB), 3) == "SUCCESS"
    assert spender.balances(TOKEN, ALICE, BOB) == [7, 3]
    assert spender.overlay.token_allowance(TOKEN, ALICE, CONTRACT) == 2
    assert spender.code(TRANSFER_FROM, *zero(TOKEN, ALICE, BOB), 3) == "AMOUNT_EXCEEDS_ALLOWANCE"
    assert spender.code(TRANSFER_FROM, *zero(TOKEN, ALICE, BOB), 2) == "SUCCESS"
    assert spender.code(TRANSFER_FROM, *zero(TOKEN, ALICE, BOB), 1) == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"


def test_the_owner_too_needs_an_allowance_to_spend_from_one(spender):
    code = spender.code(TRANSFER_FROM, *zero(TOKEN, CONTRACT, BOB), 1)
    assert code == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"


def test_whoever_has_not_signed_gives_by_its_allowance(spender):
    assert spender.code(TRANSFER_TOKEN, *zero(TOKEN, OTHER_CONTRACT, BOB), 4) == "SUCCESS"
    assert spender.overlay.token_allowance(TOKEN, OTHER_CONTRACT, CONTRACT) == 1
    assert spender.code(TRANSFER_TOKEN, *zero(TOKEN, OTHER_CONTRACT, BOB), 4) == "AMOUNT_EXCEEDS_ALLOWANCE"
    assert spender.code(TRANSFER_NFT, *zero(UNIQUE, OTHER_CONTRACT, BOB), 4) == "SUCCESS"


def test_an_account_without_the_token_has_no_allowance_first(spender):
    assert spender.code(TRANSFER_FROM, *zero(TOKEN, CAROL, BOB), 1) == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"
    assert spender.code(TRANSFER_FROM_NFT, *zero(UNIQUE, CAROL, BOB), 1) == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"


def test_a_serial_is_moved_by_its_spender_once(ledger):
    calls = Simulation(sender=CAROL)
    assert calls.code(TRANSFER_FROM_NFT, *zero(UNIQUE, ALICE, BOB), 1) == "SUCCESS"
    code = calls.code(TRANSFER_FROM_NFT, *zero(UNIQUE, BOB, ALICE), 1)
    assert code == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"


def test_a_serial_is_moved_by_whoever_is_approved_for_all(spender):
    assert spender.code(TRANSFER_FROM_NFT, *zero(UNIQUE, OTHER_CONTRACT, BOB), 4) == "SUCCESS"
    assert spender.code(TRANSFER_FROM_NFT, *zero(UNIQUE, ALICE, BOB), 1) == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"


# ITS OWN ADDRESS

ERC_TRANSFER, ERC_TRANSFER_FROM = "transfer(address,uint256)", "transferFrom(address,address,uint256)"


def test_a_token_moves_units_of_the_caller(ledger):
    calls = Simulation(sender=ALICE)
    answer = calls.ask(ERC_TRANSFER, long_zero(BOB), 4, token=TOKEN)
    assert (answer.output, answer.reverted) == (words(1), False)
    assert calls.balances(TOKEN, ALICE, BOB) == [6, 4]
    assert [logged(log) for log in answer.logs] == [(TOKEN, ALICE, BOB, 4)]
    nothing = calls.ask(ERC_TRANSFER, long_zero(BOB), 0, token=TOKEN)
    assert [logged(log) for log in nothing.logs] == [(TOKEN, ALICE, BOB, 0)]


def test_a_token_moves_units_out_of_an_allowance(spender):
    answer = spender.ask(ERC_TRANSFER_FROM, *zero(ALICE, BOB), 5, token=TOKEN)
    assert answer.output == words(1)
    assert spender.balances(TOKEN, ALICE, BOB) == [5, 5]
    refused = spender.ask(ERC_TRANSFER_FROM, *zero(ALICE, BOB), 1, token=TOKEN)
    assert (refused.reverted, refused.output) == (True, words(CODES["SPENDER_DOES_NOT_HAVE_ALLOWANCE"]))


@pytest.mark.parametrize("sender", [ALICE, CAROL], ids=["owner", "spender"])
def test_a_unique_token_moves_a_serial_and_answers_nothing(ledger, sender):
    calls = Simulation(sender=sender)
    answer = calls.ask(ERC_TRANSFER_FROM, *zero(ALICE, BOB), 1, token=UNIQUE)
    assert (answer.output, answer.reverted) == (b"", False)
    assert calls.owner(UNIQUE, 1) == BOB
    assert [logged(log) for log in answer.logs] == [(UNIQUE, ALICE, BOB, 1)]


@pytest.mark.parametrize(
    ("token", "signature", "arguments", "code"),
    [
        (TOKEN, ERC_TRANSFER, (long_zero(BOB), 11), "INSUFFICIENT_TOKEN_BALANCE"),
        (TOKEN, ERC_TRANSFER, (long_zero(CAROL), 1), "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (TOKEN, ERC_TRANSFER, (long_zero(ALICE), 1), "ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS"),
        (TOKEN, ERC_TRANSFER, (long_zero(2999), 1), "INVALID_ALIAS_KEY"),
        (PAUSED, ERC_TRANSFER, (long_zero(BOB), 1), "TOKEN_IS_PAUSED"),
        (TOKEN, ERC_TRANSFER_FROM, (*zero(2999, BOB), 1), "INVALID_ACCOUNT_ID"),
        (UNIQUE, ERC_TRANSFER_FROM, (*zero(TREASURY, BOB), 2), "SPENDER_DOES_NOT_HAVE_ALLOWANCE"),
        (UNIQUE, ERC_TRANSFER_FROM, (*zero(BOB, TREASURY), 1), "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"),
        (UNIQUE, ERC_TRANSFER_FROM, (*zero(ALICE, BOB), 9), "INVALID_NFT_ID"),
    ],
)
def test_a_token_reverts_with_the_number_of_the_code(ledger, token, signature, arguments, code):
    answer = Simulation(sender=ALICE).ask(signature, *arguments, token=token)
    assert (answer.reverted, answer.output, answer.child_failure) == (True, words(CODES[code]), code)


def test_a_token_halts_at_a_function_of_the_other_type_and_at_too_large_numbers(ledger):
    calls = Simulation(sender=ALICE)
    assert calls.ask(ERC_TRANSFER, long_zero(BOB), 1, token=UNIQUE).halt is Halt.PRECOMPILE
    assert calls.ask(ERC_TRANSFER, long_zero(BOB), 1 << 63, token=TOKEN).halt is Halt.PRECOMPILE
    for token in (TOKEN, UNIQUE):
        answer = calls.ask(ERC_TRANSFER_FROM, *zero(ALICE, BOB), 1 << 63, token=token)
        assert answer.halt is Halt.PRECOMPILE


def test_a_token_that_is_not_there_reverts_with_the_name_of_the_code_for_the_price_of_a_transfer(ledger):
    data = encoded_call(ERC_TRANSFER, long_zero(BOB), 1)
    answer = Simulation(sender=ALICE).ask("redirectForToken(address,bytes)", long_zero(2999), data)
    assert (answer.reverted, answer.output, answer.gas) == (True, b"INVALID_TOKEN_ID", 15_284)


# GAS


def gas_of(dollars_in_millionths):
    return WITHOUT_FILES.gas_of(dollars_in_millionths * 10_000)


def test_each_change_has_its_price(ledger):
    of_units = units(TOKEN, (ALICE, -2), (BOB, 1), (OTHER_CONTRACT, 1))
    calls = Simulation()
    assert calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE, BOB), 1).gas == gas_of(1_000) == 15_284
    assert calls.ask(TRANSFER_NFT, *zero(UNIQUE, ALICE, BOB), 1).gas == gas_of(1_000)
    assert calls.ask(V1, [of_units]).gas == gas_of(1_500)
    hbar = ([(long_zero(ALICE), -5, False), (long_zero(BOB), 5, False)],)
    assert calls.ask(V2, hbar, []).gas == gas_of(100)
    # A refusal too.
    assert calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE, CAROL), 1).gas == gas_of(1_000)
    assert calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE, BOB), -1).gas == gas_of(1_000)


def test_associations_and_new_accounts_cost_more(ledger):
    calls = Simulation()
    association = WITHOUT_FILES.gas_of(500_000_000)
    assert calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE, DAVE), 1).gas == gas_of(1_000) + association
    answer = calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE), NEW_ADDRESS, 1)
    assert answer.gas == gas_of(1_000 + 50_220) + association
    assert calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE), NEW_ADDRESS, 1).gas == gas_of(1_000)


def test_custom_fees_double_the_price_of_tokens(ledger):
    ledger.custom_fee(TOKEN, fixed_fees=[fixed_fee(1)])
    hbar = ([(long_zero(ALICE), -5, False), (long_zero(BOB), 5, False)],)
    tokens: list[object] = [
        (long_zero(TOKEN), [(long_zero(ALICE), -1, False), (long_zero(BOB), 1, False)], [])
    ]
    assert Simulation().ask(V2, hbar, tokens).gas == gas_of(100 + 2 * 1_000)


def fixed_fee(amount):
    return {
        "all_collectors_are_exempt": False,
        "amount": amount,
        "collector_account_id": TREASURY,
        "denominating_token_id": None,
    }


# STATEMENTS


@pytest.mark.parametrize("state_of", [current, lambda: at(START + 100)], ids=["now", "then"])
@pytest.mark.parametrize(
    ("signature", "arguments", "token"),
    [
        (TRANSFER_TOKEN, (*zero(TOKEN, ALICE, BOB), 1), None),
        (TRANSFER_NFT, (*zero(UNIQUE, ALICE, BOB), 1), None),
        (ERC_TRANSFER, (long_zero(BOB), 1), TOKEN),
        (ERC_TRANSFER_FROM, (*zero(ALICE, BOB), 1), UNIQUE),
    ],
)
def test_a_transfer_reads_accounts_the_token_and_two_relationships(
    ledger, state_of, signature, arguments, token
):
    ledger.transaction(START + 50, tokens=[(TOKEN, ALICE, 50)])
    # What is called at its own address is looked at for its code.
    for most in (4 if token is None else 5, 0):
        calls = Simulation(sender=ALICE, state=state_of())
        calls.overlay.address_of(ALICE)
        with CaptureQueriesContext(connection) as statements:
            assert calls.ask(signature, *arguments, token=token).child_failure is None
        assert len(statements) <= most


# CALLS BY CONTRACTS


def balance_of(account):
    return Step(long_zero(TOKEN), data_of("balanceOf(address)", long_zero(account)))


def paying(amount, kind="CALL", gas=3_000_000):
    data = encoded_call(TRANSFER_TOKEN, *zero(TOKEN, 6001, BOB), amount)
    return Step(SERVICE, data, kind, gas)


def run_contract(ledger, *steps, then="RETURN", number=6001):
    contract(ledger, number, calling_contract(*steps, then=then), key=contract_key(number))


def test_later_steps_of_a_call_see_what_a_contract_has_moved(ledger):
    run_contract(ledger, paying(4), balance_of(6001), balance_of(BOB), paying(7))
    ledger.holding(TOKEN, account=6001, balance=10)
    result = run(current(), long_zero(6001), b"", gas=10_000_000)
    assert result.status is Status.SUCCESS
    assert outcomes(result.output) == [
        (True, 22),
        (True, 6),
        (True, 4),
        (True, CODES["INSUFFICIENT_TOKEN_BALANCE"]),
    ]
    assert [logged(log) for log in result.logs] == [(TOKEN, 6001, BOB, 4)]
    assert result.child_failures == ("INSUFFICIENT_TOKEN_BALANCE",)
    # Another call begins with what is stored.
    assert run(current(), long_zero(TOKEN), balance_of(BOB).data).output == words(0)


def test_a_revert_takes_back_what_was_moved(ledger):
    run_contract(ledger, paying(4), balance_of(BOB), then="REVERT")
    ledger.holding(TOKEN, account=6001, balance=10)
    run_contract(ledger, Step(long_zero(6001), b""), balance_of(6001), balance_of(BOB), number=6002)
    result = run(current(), long_zero(6002), b"", gas=10_000_000)
    assert outcomes(result.output) == [(False, 1), (True, 10), (True, 0)]
    assert result.logs == ()


def test_without_the_gas_for_it_nothing_is_moved(ledger):
    run_contract(ledger, paying(4, gas=15_283), balance_of(BOB), paying(4, gas=15_284), balance_of(BOB))
    ledger.holding(TOKEN, account=6001, balance=10)
    result = run(current(), long_zero(6001), b"", gas=10_000_000)
    assert outcomes(result.output) == [(False, 0), (True, 0), (True, 22), (True, 4)]


def test_in_a_static_frame_nothing_is_moved(ledger):
    run_contract(ledger, paying(4, "STATICCALL"), balance_of(BOB))
    ledger.holding(TOKEN, account=6001, balance=10)
    result = run(current(), long_zero(6001), b"", gas=10_000_000)
    assert outcomes(result.output) == [(False, 0), (True, 0)]


def test_a_contract_can_not_have_the_service_run_as_itself(ledger):
    run_contract(ledger, paying(4, "DELEGATECALL"), balance_of(BOB))
    ledger.holding(TOKEN, account=6001, balance=10)
    result = run(current(), long_zero(6001), b"", gas=10_000_000)
    assert outcomes(result.output) == [(False, 0), (True, 0)]


def test_an_account_calls_a_token_directly(ledger):
    data = data_of(ERC_TRANSFER, long_zero(BOB), 4)
    result = run(current(), long_zero(TOKEN), data, sender=ALICE)
    assert (result.status, result.output) == (Status.SUCCESS, words(1))
    assert [logged(log) for log in result.logs] == [(TOKEN, ALICE, BOB, 4)]
    refused = run(current(), long_zero(TOKEN), data, sender=CAROL)
    expected = words(CODES["TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"])
    assert (refused.status, refused.output) == (Status.REVERT, expected)
    static = run(current(), long_zero(TOKEN), data, sender=ALICE, static=True)
    assert (static.status, static.output) == (Status.REVERT, b"")
