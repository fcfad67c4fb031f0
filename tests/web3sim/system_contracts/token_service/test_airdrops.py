"""Airdrops: given, claimed, cancelled."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mirror.core.values.hapi.messages import ContractID, Key, KeyList, ThresholdKey
from tests.build import START, insert, time_range
from tests.web3sim.rows import contract
from tests.web3sim.state.states import at, current, long_zero
from tests.web3sim.system_contracts.calls import CODES, SERVICE, run, words
from tests.web3sim.system_contracts.simulation import (
    Simulation,
    Step,
    calling_contract,
    encoded_call,
    logged,
    outcomes,
)
from tests.web3sim.system_contracts.token_service.airdrops import (
    AIRDROP,
    CANCEL,
    CLAIM,
    COLLECTOR,
    HBARS,
    KNOWN,
    PAUSED,
    REJECT,
    ROYAL,
    TOKEN,
    UNIQUE,
    fee,
    ledger,
    pending,
    serials,
    units,
    waiting,
)
from tests.web3sim.system_contracts.token_service.moving import (
    ALICE,
    BOB,
    CALLER,
    CAROL,
    CONTRACT,
    DAVE,
    FRANK,
    KEY,
    NEW_ADDRESS,
    OTHER_CONTRACT,
    TREASURY,
    contract_key,
)
from web3sim.engine.interface import Status
from web3sim.operations.prices import WITHOUT_FILES
from web3sim.state import cache
from web3sim.state.tables.rows import AirdropKey

__all__ = ["ledger"]

PEOPLE = Key.FromString(KEY)


@pytest.mark.parametrize("state_of", [current, lambda: at(START + 100)], ids=["now", "then"])
def test_associated_accounts_get_airdrops_at_once(ledger, state_of):
    ledger.transaction(START + 50, transfers=[(CALLER, HBARS)], tokens=[(TOKEN, ALICE, 50)])
    calls = Simulation(state=state_of())
    gifts = units(TOKEN, (ALICE, -10), (BOB, 3), (CAROL, 5), (DAVE, 2))
    answer = calls.ask(AIRDROP, [gifts])
    assert answer.output == words(22)
    assert calls.balances(TOKEN, ALICE, BOB, CAROL, DAVE) == [45, 3, 0, 2]
    assert waiting(calls, ALICE, CAROL, TOKEN) == 5
    assert calls.relationship(TOKEN, DAVE).automatic
    assert [logged(log) for log in answer.logs] == [(TOKEN, ALICE, BOB, 3), (TOKEN, ALICE, DAVE, 2)]
    assert calls.code(AIRDROP, [units(TOKEN, (ALICE, -1), (CAROL, 1))]) == "SUCCESS"
    assert waiting(calls, ALICE, CAROL, TOKEN) == 6


def test_serials_are_airdropped(ledger):
    calls = Simulation()
    assert calls.code(AIRDROP, [serials(UNIQUE, (ALICE, BOB, 1), (ALICE, CAROL, 2))]) == "SUCCESS"
    assert [calls.owner(UNIQUE, number) for number in (1, 2)] == [BOB, ALICE]
    assert waiting(calls, ALICE, CAROL, UNIQUE, 2) == 0
    again = calls.code(AIRDROP, [serials(UNIQUE, (ALICE, CAROL, 2))])
    assert again == "PENDING_NFT_AIRDROP_ALREADY_EXISTS"


def test_receiver_that_must_sign_counts_as_having_signed(ledger):
    calls = Simulation()
    assert calls.code(AIRDROP, [units(TOKEN, (ALICE, -1), (FRANK, 1))]) == "SUCCESS"
    assert (waiting(calls, ALICE, FRANK, TOKEN), calls.balances(TOKEN, FRANK)) == (None, [1])


def test_an_account_comes_into_being_by_an_airdrop(ledger):
    calls = Simulation()
    gift: object = (long_zero(TOKEN), [(long_zero(ALICE), -2, False), (NEW_ADDRESS, 2, False)], [])
    assert calls.code(AIRDROP, [gift]) == "SUCCESS"
    created = calls.overlay.account_id_at(NEW_ADDRESS)
    assert created is not None
    assert calls.balances(TOKEN, ALICE, created) == [48, 2]


def test_the_sender_pays_custom_fees_also_for_what_waits(ledger):
    ledger.holding(TOKEN, account=COLLECTOR)
    ledger.custom_fee(
        TOKEN,
        fixed_fees=[fee(amount=7, denominating_token_id=None)],
        fractional_fees=[
            fee(numerator=1, denominator=5, minimum_amount=0, maximum_amount=None, net_of_transfers=False)
        ],
    )
    calls = Simulation()
    assert calls.code(AIRDROP, [units(TOKEN, (ALICE, -10), (CAROL, 10))]) == "SUCCESS"
    assert waiting(calls, ALICE, CAROL, TOKEN) == 8
    assert calls.balances(TOKEN, ALICE, COLLECTOR) == [48, 2]
    assert calls.hbars(ALICE, COLLECTOR) == [993, 1007]
    assert calls.code(CLAIM, [pending(ALICE, CAROL, TOKEN)]) == "SUCCESS"
    assert calls.balances(TOKEN, ALICE, CAROL, COLLECTOR) == [40, 8, 2]
    assert calls.hbars(CAROL) == [1000]


@pytest.mark.parametrize(
    ("lists", "code"),
    [
        ([], "EMPTY_TOKEN_TRANSFER_BODY"),
        ([units(TOKEN, (ALICE, -1), (BOB, 1))] * 2, "TOKEN_ID_REPEATED_IN_TOKEN_LIST"),
        (
            [units(TOKEN, (ALICE, -1), (TREASURY, -1), (BOB, 2))],
            "AIRDROP_CONTAINS_MULTIPLE_SENDERS_FOR_A_TOKEN",
        ),
        ([units(TOKEN, (BOB, 2))], "AIRDROP_CONTAINS_MULTIPLE_SENDERS_FOR_A_TOKEN"),
        (
            [serials(UNIQUE, (ALICE, BOB, 1), (TREASURY, BOB, 3))],
            "AIRDROP_CONTAINS_MULTIPLE_SENDERS_FOR_A_TOKEN",
        ),
        ([units(TOKEN, (ALICE, -1), (BOB, 2))], "TRANSFERS_NOT_ZERO_SUM_FOR_TOKEN"),
        ([units(TOKEN)], "EMPTY_TOKEN_TRANSFER_ACCOUNT_AMOUNTS"),
        ([units(TOKEN, (ALICE, -1), (BOB, 1), approved=True)], "NOT_SUPPORTED"),
        ([units(2999, (ALICE, -1), (BOB, 1))], "INVALID_TOKEN_ID"),
        ([units(PAUSED, (ALICE, -1), (BOB, 1))], "TOKEN_IS_PAUSED"),
        ([units(TOKEN, (2999, -1), (BOB, 1))], "INVALID_ACCOUNT_ID"),
        ([units(TOKEN, (ALICE, -1), (2999, 1))], "INVALID_ACCOUNT_ID"),
        *(
            ([units(TOKEN, (ALICE, -1), (number, 1))], "INVALID_RECEIVING_NODE_ACCOUNT")
            # The last one has an address of its own.
            for number in (0, 800, 4000)
        ),
        ([serials(UNIQUE, (ALICE, 4000, 1))], "INVALID_RECEIVING_NODE_ACCOUNT"),
        ([units(0, (ALICE, -1), (BOB, 2))], "INVALID_TOKEN_ID"),
        ([units(TOKEN, (ALICE, -51), (CAROL, 51))], "INSUFFICIENT_TOKEN_BALANCE"),
        ([units(TOKEN, (CAROL, -1), (BOB, 1))], "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        ([units(UNIQUE, (ALICE, -1), (BOB, 1))], "ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON"),
        ([serials(UNIQUE, (ALICE, CAROL, 9))], "INVALID_NFT_ID"),
        ([serials(UNIQUE, (ALICE, CAROL, 3))], "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"),
        ([serials(UNIQUE, (ALICE, CAROL, -1))], "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
        (
            [serials(UNIQUE, *((ALICE, BOB, number) for number in range(1, 12)))],
            "TOKEN_REFERENCE_LIST_SIZE_LIMIT_EXCEEDED",
        ),
        (
            [units(TOKEN, (ALICE, -10), *((n, 1) for n in range(4001, 4011)))],
            "TOKEN_REFERENCE_LIST_SIZE_LIMIT_EXCEEDED",
        ),
        ([serials(ROYAL, (ALICE, BOB, 1))], "TOKEN_AIRDROP_WITH_FALLBACK_ROYALTY"),
        ([serials(ROYAL, (ALICE, COLLECTOR, 1))], "SUCCESS"),
        ([units(KNOWN, (ALICE, -1), (DAVE, 1))], "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"),
    ],
)
def test_airdrops_are_refused(ledger, lists, code):
    fallback = {"amount": 1, "denominating_token_id": None}
    ledger.custom_fee(ROYAL, royalty_fees=[fee(numerator=1, denominator=2, fallback_fee=fallback)])
    ledger.entity(4000, evm_address=NEW_ADDRESS)
    calls = Simulation()
    assert calls.code(AIRDROP, lists) == code
    assert calls.balances(TOKEN, ALICE, BOB) == [50, 0]


def test_the_caller_pays_for_what_waits_and_for_new_associations(ledger):
    calls = Simulation()
    cents = 10**8
    for gift, price in (
        (units(TOKEN, (ALICE, -1), (BOB, 1)), 0),
        (units(TOKEN, (ALICE, -3), (CAROL, 1), (DAVE, 2)), 20 * cents),
        (units(TOKEN, (ALICE, -1), (CAROL, 1)), 5 * cents),
        (serials(UNIQUE, (ALICE, CAROL, 1)), 10 * cents),
    ):
        before = calls.hbars(CALLER, 98)
        assert calls.code(AIRDROP, [gift]) == "SUCCESS"
        paid = WITHOUT_FILES.tinybars(price)
        assert calls.hbars(CALLER, 98) == [before[0] - paid, before[1] + paid]
    poor = Simulation(sender=BOB)
    assert poor.code(AIRDROP, [units(TOKEN, (ALICE, -1), (CAROL, 1))]) == "INSUFFICIENT_PAYER_BALANCE"


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (Key.FromString(contract_key(OTHER_CONTRACT)), "SUCCESS"),
        (Key(ECDSA_secp256k1=bytes(33)), "SUCCESS"),
        (Key(delegatable_contract_id=ContractID(contractNum=OTHER_CONTRACT)), "NOT_SUPPORTED"),
        (Key(RSA_3072=b"1"), "NOT_SUPPORTED"),
        (Key(keyList=KeyList(keys=[PEOPLE, Key(RSA_3072=b"1")])), "NOT_SUPPORTED"),
        (
            Key(thresholdKey=ThresholdKey(threshold=1, keys=KeyList(keys=[PEOPLE, Key(RSA_3072=b"1")]))),
            "SUCCESS",
        ),
    ],
)
def test_a_receiver_has_to_be_able_to_claim(ledger, key, code):
    ledger.entity(4001, key=key.SerializeToString())
    assert Simulation().code(AIRDROP, [units(TOKEN, (ALICE, -1), (4001, 1))]) == code


def test_too_many_airdrops_are_refused_before_anything_is_read(ledger):
    cache.reset()
    gifts = [units(TOKEN, *((number, 1) for number in range(6001, 6301)))]
    calls = Simulation()
    with CaptureQueriesContext(connection) as statements:
        assert calls.code(AIRDROP, gifts) == "TOKEN_REFERENCE_LIST_SIZE_LIMIT_EXCEEDED"
    # Who calls, whose own address is looked up here.
    assert len(statements) <= 1


def test_the_accounts_of_airdrops_are_read_together(ledger):
    for number in range(6001, 6009):
        ledger.entity(number, max_automatic_token_associations=-1)
    many = units(TOKEN, (ALICE, -8), *((number, 1) for number in range(6001, 6009)))
    few = units(TOKEN, (ALICE, -1), (6001, 1))
    counted = []
    for gifts in (few, many):
        cache.reset()
        calls = Simulation()
        with CaptureQueriesContext(connection) as statements:
            assert calls.code(AIRDROP, [gifts]) == "SUCCESS"
        counted.append(sum("from entity" in each["sql"].lower() for each in statements))
    assert counted[0] == counted[1]


# CLAIM AND CANCEL


@pytest.fixture
def offers(ledger):
    """A simulation in which Carol has been offered units and a serial by Alice."""
    calls = Simulation()
    gifts = [units(TOKEN, (ALICE, -5), (CAROL, 5)), serials(UNIQUE, (ALICE, CAROL, 1))]
    assert calls.code(AIRDROP, gifts) == "SUCCESS"
    return calls


BOTH = [pending(ALICE, CAROL, TOKEN), pending(ALICE, CAROL, UNIQUE, 1)]


def test_what_waits_is_claimed_with_new_associations(offers):
    answer = offers.ask(CLAIM, BOTH)
    assert answer.output == words(22)
    assert offers.balances(TOKEN, ALICE, CAROL) == [45, 5]
    assert offers.owner(UNIQUE, 1) == CAROL
    assert not offers.relationship(TOKEN, CAROL).automatic
    assert [waiting(offers, ALICE, CAROL, *token) for token in ((TOKEN,), (UNIQUE, 1))] == [None, None]
    assert answer.logs == ()
    assert offers.code(CLAIM, BOTH[:1]) == "INVALID_PENDING_AIRDROP_ID"


def test_what_waits_in_the_tables_is_claimed(ledger):
    insert(
        "token_airdrop",
        amount=4,
        receiver_account_id=CAROL,
        sender_account_id=ALICE,
        serial_number=0,
        state="PENDING",
        timestamp_range=time_range(START),
        token_id=TOKEN,
    )
    calls = Simulation()
    assert calls.code(CLAIM, [pending(ALICE, CAROL, TOKEN)]) == "SUCCESS"
    assert calls.balances(TOKEN, ALICE, CAROL) == [46, 4]


def test_what_waits_is_cancelled(offers):
    assert offers.code(CANCEL, BOTH) == "SUCCESS"
    assert offers.code(CLAIM, BOTH[:1]) == "INVALID_PENDING_AIRDROP_ID"
    assert offers.balances(TOKEN, ALICE, CAROL) == [50, 0]


@pytest.mark.parametrize("signature", [CLAIM, CANCEL])
@pytest.mark.parametrize(
    ("ids", "code"),
    [
        ([], "EMPTY_PENDING_AIRDROP_ID_LIST"),
        (BOTH + BOTH[:1], "PENDING_AIRDROP_ID_REPEATED"),
        ([pending(ALICE, CAROL, 2999)], "INVALID_TOKEN_ID"),
        ([pending(ALICE, BOB, TOKEN)], "INVALID_PENDING_AIRDROP_ID"),
        ([pending(ALICE, CAROL, UNIQUE, 2)], "INVALID_PENDING_AIRDROP_ID"),
    ],
)
def test_claims_and_cancellations_are_refused(offers, signature, ids, code):
    assert offers.code(signature, ids) == code


def test_whoever_calls_claims_for_the_receiver(ledger):
    calls = Simulation(sender=OTHER_CONTRACT)
    ledger.entity(4001, key=contract_key(CONTRACT))
    assert calls.code(AIRDROP, [units(TOKEN, (OTHER_CONTRACT, -5), (4001, 5))]) == "SUCCESS"
    assert calls.code(CLAIM, [pending(OTHER_CONTRACT, 4001, TOKEN)]) == "SUCCESS"


@pytest.mark.parametrize(
    ("signature", "arguments"),
    [
        (AIRDROP, ([units(TOKEN, (ALICE, -10), *((n, 1) for n in range(4001, 4011)))],)),
        (AIRDROP, ([units(TOKEN, (ALICE, -1), (800, 1))],)),
        (CLAIM, ([pending(ALICE, CAROL, TOKEN)] * 11,)),
        (CANCEL, ([pending(ALICE, CAROL, 2999)],)),
        (REJECT, (long_zero(ALICE), [long_zero(TOKEN)] * 11, [])),
    ],
)
def test_limits_are_checked_before_anything_else_for_all_gas(ledger, signature, arguments):
    data = encoded_call(signature, *arguments)
    for static in (False, True):
        result = run(current(), SERVICE, data, static=static)
        assert (result.status, result.gas_used) == (Status.REVERT, 1_000_000)
        assert result.output.decode() == result.child_failures[0]


@pytest.mark.parametrize(
    ("signature", "ids", "code"),
    [
        (CLAIM, pending(2999, CAROL, TOKEN), "INVALID_PENDING_AIRDROP_ID"),
        (CLAIM, pending(ALICE, 2999, TOKEN), "INVALID_ACCOUNT_ID"),
        (CANCEL, pending(2999, CAROL, TOKEN), "INVALID_PENDING_AIRDROP_ID"),
        (CANCEL, pending(ALICE, 2999, TOKEN), "INVALID_PENDING_AIRDROP_ID"),
        (CLAIM, pending(ALICE, CAROL, UNIQUE, 0), "INVALID_PENDING_AIRDROP_ID"),
        (CANCEL, pending(ALICE, CAROL, UNIQUE, 0), "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
        (CANCEL, pending(2999, CAROL, UNIQUE, 0), "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
        (CANCEL, pending(0, CAROL, UNIQUE, 0), "INVALID_PENDING_AIRDROP_ID"),
    ],
)
def test_who_and_what_is_named_has_to_be_there(offers, signature, ids, code):
    assert offers.code(signature, [ids]) == code


def test_what_the_sender_has_no_more_can_not_be_claimed(offers):
    move = "transferToken(address,address,address,int64)"
    assert offers.code(move, *map(long_zero, (TOKEN, ALICE, BOB)), 46) == "SUCCESS"
    assert offers.code(CLAIM, BOTH[:1]) == "INSUFFICIENT_TOKEN_BALANCE"
    move = "transferNFT(address,address,address,int64)"
    assert offers.code(move, *map(long_zero, (UNIQUE, ALICE, BOB)), 1) == "SUCCESS"
    assert offers.code(CLAIM, BOTH[1:]) == "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"
    assert offers.code(CANCEL, BOTH) == "SUCCESS"


def test_paused_token_or_one_with_fallback_fee_is_not_claimed(ledger):
    fallback = {"amount": 1, "denominating_token_id": None}
    ledger.custom_fee(UNIQUE, royalty_fees=[fee(numerator=1, denominator=2, fallback_fee=fallback)])
    calls = Simulation()
    key = AirdropKey(ALICE, CAROL, UNIQUE, 1)
    calls.overlay.put_pending_airdrop(key, 0)
    assert calls.code(CLAIM, BOTH[1:]) == "TOKEN_AIRDROP_WITH_FALLBACK_ROYALTY"
    calls.overlay.put_pending_airdrop(AirdropKey(ALICE, CAROL, PAUSED, 0), 1)
    assert calls.code(CLAIM, [pending(ALICE, CAROL, PAUSED)]) == "TOKEN_IS_PAUSED"


# AT THE TOKEN'S OWN ADDRESS


def test_the_receiver_claims_at_the_address_of_a_token(offers):
    offers.sender = CAROL
    assert offers.code("claimAirdropFT(address)", long_zero(ALICE), token=TOKEN) == "SUCCESS"
    assert offers.code("claimAirdropNFT(address,int64)", long_zero(ALICE), 1, token=UNIQUE) == "SUCCESS"
    assert (offers.balances(TOKEN, CAROL), offers.owner(UNIQUE, 1)) == ([5], CAROL)
    answer = offers.ask("claimAirdropFT(address)", long_zero(ALICE), token=TOKEN)
    assert (answer.reverted, answer.output) == (False, words(CODES["INVALID_PENDING_AIRDROP_ID"]))


def test_the_sender_cancels_at_the_address_of_a_token(offers):
    offers.sender = ALICE
    assert offers.code("cancelAirdropFT(address)", long_zero(CAROL), token=TOKEN) == "SUCCESS"
    assert offers.code("cancelAirdropNFT(address,int64)", long_zero(CAROL), 1, token=UNIQUE) == "SUCCESS"
    assert waiting(offers, ALICE, CAROL, TOKEN) is waiting(offers, ALICE, CAROL, UNIQUE, 1) is None


# GAS AND CALLS BY CONTRACTS


def test_what_airdrops_cost(offers):
    gas_of = WITHOUT_FILES.gas_of
    asked = units(TOKEN, (ALICE, -2), (BOB, 2))
    to_dave = units(TOKEN, (ALICE, -2), (DAVE, 2))
    for gift in (asked, to_dave):
        assert offers.ask(AIRDROP, [gift]).gas == gas_of(1_000_000_000) == 1_409_649
    assert offers.ask(CLAIM, BOTH).gas == gas_of(10_000_000) == 15_284
    assert offers.ask(CANCEL, BOTH).gas == gas_of(10_000_000)
    assert offers.ask(REJECT, long_zero(ALICE), [long_zero(TOKEN)], []).gas == gas_of(10_000_000)
    two = offers.ask(REJECT, long_zero(ALICE), [long_zero(PAUSED)], [(long_zero(UNIQUE), 1)])
    assert two.gas == gas_of(20_000_000) == 29_368


def test_a_revert_takes_back_an_airdrop_and_what_was_claimed(ledger):
    airdrop = Step(SERVICE, encoded_call(AIRDROP, [units(TOKEN, (ALICE, -5), (CAROL, 5))]))
    claim = Step(SERVICE, encoded_call(CLAIM, BOTH[:1]))
    contract(ledger, 6001, calling_contract(airdrop, claim, then="REVERT"), balance=HBARS)
    code = calling_contract(Step(long_zero(6001), b""), claim, airdrop, claim)
    contract(ledger, 6002, code, balance=HBARS)
    result = run(current(), long_zero(6002), b"", gas=15_000_000)
    missing = CODES["INVALID_PENDING_AIRDROP_ID"]
    assert outcomes(result.output) == [(False, 1), (True, missing), (True, 22), (True, 22)]
