"""Custom fees of token transfers by the rules of HIP-18, and refusals of transfers."""

from typing import Any

import pytest

from mirror.demo.actions.tokens.moving import Transfers
from mirror.demo.network import Network
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.tokens import CustomFee, FixedFee, FractionalFee, RoyaltyFee, Serial, Token

TREASURY, ADA, BOB, COLLECTOR, OTHER_COLLECTOR = 1001, 1002, 1003, 1004, 1005
COIN, ART, CURRENCY = 2001, 2002, 2003
KEY = b"key"


@pytest.fixture
def network() -> Network:
    """Five people that hold 1000 of two fungible tokens each; Ada has serial 1 of a third, the rest none."""
    network = Network(1, [])
    for number in (TREASURY, ADA, BOB, COLLECTOR, OTHER_COLLECTOR):
        network.world.accounts[number] = Account(number, 1, balance=1_000 * HBAR)
        network.world.people.append(number)
    for number, fungible in ((COIN, True), (ART, False), (CURRENCY, True)):
        token = Token(number, 1, 1, f"Token {number}", f"T{number}", fungible, TREASURY)
        network.world.tokens.issued[number] = token
        for of in network.world.people:
            network.world.tokens.associate(token, of, 1)
            token.relationships[of].balance = 1_000 if fungible else 0
    art = network.world.tokens.issued[ART]
    art.serials[1], art.relationships[ADA].balance = Serial(ADA, b"", 1, 1), 1
    return network


def charge(network: Network, number: int, *fees: CustomFee) -> Token:
    token = network.world.tokens.issued[number]
    token.fees = fees
    return token


def send(network: Network, token: Token, sender: int, receiver: int, amount: int) -> Transfers:
    transfers = Transfers(network)
    transfers.move(token, sender, receiver, amount)
    transfers.assess()
    return transfers


def hand_over(network: Network, token: Token, sender: int, receiver: int, price: int = 0) -> Transfers:
    transfers = Transfers(network)
    transfers.move(token, sender, receiver, 1)
    if price:
        transfers.pay(receiver, sender, price)
    transfers.assess()
    return transfers


def moved(transfers: Transfers) -> dict[int, dict[int, int]]:
    """token -> account -> amount of the record."""
    return {
        each["token"]: {one["accountID"]: one["amount"] for one in each["transfers"]}
        for each in transfers.lists()
        if "transfers" in each
    }


def assessed(transfers: Transfers) -> list[tuple[Any, ...]]:
    """Amount, token, collector, who really paid, of each fee in the record."""
    return [tuple(fee.values()) for fee in transfers.settle()["assessed_custom_fees"]]


def test_sender_pays_fixed_fee_in_hbars_or_a_token(network):
    coin = charge(network, COIN, FixedFee(HBAR, COLLECTOR), FixedFee(7, OTHER_COLLECTOR, CURRENCY))
    transfers = send(network, coin, ADA, BOB, 100)
    assert transfers.hbars == {ADA: -HBAR, COLLECTOR: HBAR}
    assert moved(transfers) == {COIN: {ADA: -100, BOB: 100}, CURRENCY: {ADA: -7, OTHER_COLLECTOR: 7}}
    assert assessed(transfers) == [(HBAR, None, COLLECTOR, [ADA]), (7, CURRENCY, OTHER_COLLECTOR, [ADA])]


def test_a_fixed_fee_in_the_token_itself_adds_to_what_is_sent(network):
    coin = charge(network, COIN, FixedFee(3, COLLECTOR, COIN))
    transfers = send(network, coin, ADA, BOB, 100)
    assert moved(transfers) == {COIN: {ADA: -103, BOB: 100, COLLECTOR: 3}}


@pytest.mark.parametrize(
    ("fee", "amount", "expected"),
    [
        (FractionalFee(5, 100, COLLECTOR), 200, {ADA: -200, BOB: 190, COLLECTOR: 10}),
        (FractionalFee(5, 100, COLLECTOR, minimum=25), 200, {ADA: -200, BOB: 175, COLLECTOR: 25}),
        (FractionalFee(5, 100, COLLECTOR, maximum=4), 200, {ADA: -200, BOB: 196, COLLECTOR: 4}),
        (FractionalFee(5, 100, COLLECTOR, net_of_transfers=True), 200, {ADA: -210, BOB: 200, COLLECTOR: 10}),
        (FractionalFee(1, 100, COLLECTOR), 99, {ADA: -99, BOB: 99}),
    ],
    ids=["of the receiver", "at least", "at most", "of the sender", "rounded down to nothing"],
)
def test_fractional_fee_is_part_of_amount_or_comes_on_top(network, fee, amount, expected):
    transfers = send(network, charge(network, COIN, fee), ADA, BOB, amount)
    assert moved(transfers) == {COIN: expected}
    payer = ADA if fee.net_of_transfers else BOB
    paid = [(expected[COLLECTOR], COIN, COLLECTOR, [payer])] if COLLECTOR in expected else []
    assert assessed(transfers) == paid


@pytest.mark.parametrize(
    ("sender", "all_exempt", "charged"),
    [(TREASURY, False, 0), (COLLECTOR, False, 1), (OTHER_COLLECTOR, True, 0), (ADA, True, 2)],
    ids=["the treasury", "its own collector", "all collectors", "another account"],
)
def test_the_treasury_and_collectors_are_exempt(network, sender, all_exempt, charged):
    fees = (FixedFee(2, COLLECTOR, COIN, all_exempt), FixedFee(3, OTHER_COLLECTOR, COIN, all_exempt))
    transfers = send(network, charge(network, COIN, *fees), sender, BOB, 100)
    assert len(assessed(transfers)) == charged


def test_a_royalty_is_a_part_of_the_price_that_the_seller_gets(network):
    fallback = FixedFee(HBAR, COLLECTOR)
    art = charge(network, ART, RoyaltyFee(5, 100, COLLECTOR, fallback))
    transfers = hand_over(network, art, ADA, BOB, price=100 * HBAR)
    assert transfers.hbars == {ADA: 95 * HBAR, BOB: -100 * HBAR, COLLECTOR: 5 * HBAR}
    assert assessed(transfers) == [(5 * HBAR, None, COLLECTOR, [ADA])]


def test_the_receiver_of_a_gift_pays_the_fallback_fee(network):
    art = charge(network, ART, RoyaltyFee(5, 100, COLLECTOR, FixedFee(9, COLLECTOR, CURRENCY)))
    transfers = hand_over(network, art, ADA, BOB)
    assert moved(transfers) == {CURRENCY: {BOB: -9, COLLECTOR: 9}}
    assert assessed(transfers) == [(9, CURRENCY, COLLECTOR, [BOB])]


def test_without_price_and_fallback_there_is_no_royalty(network):
    transfers = hand_over(network, charge(network, ART, RoyaltyFee(5, 100, COLLECTOR)), ADA, BOB)
    assert assessed(transfers) == []


def test_a_serial_changes_hands_and_no_one_else_may_spend_it(network):
    art = charge(network, ART)
    art.serials[1].spender = TREASURY
    hand_over(network, art, ADA, BOB).settle()
    assert art.serials[1].owner == BOB
    assert art.serials[1].spender is None
    assert (art.balance(ADA), art.balance(BOB)) == (0, 1)


# REFUSALS
def test_all_of_a_balance_can_be_sent(network):
    assert send(network, charge(network, COIN), ADA, BOB, 1_000).failure() is None


def test_too_little_for_the_amount_or_the_fee_is_refused(network):
    coin = charge(network, COIN, FixedFee(1, COLLECTOR, COIN))
    assert send(network, coin, ADA, BOB, 1_001).failure() == "INSUFFICIENT_TOKEN_BALANCE"
    failure = send(network, coin, ADA, BOB, 1_000).failure()
    assert failure == "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE"


def test_frozen_accounts_missing_kyc_paused_and_deleted_tokens_are_refused(network):
    coin = charge(network, COIN)
    transfers = send(network, coin, ADA, BOB, 1)
    coin.relationships[BOB].kyc_granted = False
    assert transfers.failure() == "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"
    coin.relationships[ADA].frozen = True
    assert transfers.failure() == "ACCOUNT_FROZEN_FOR_TOKEN"
    coin.paused = True
    assert transfers.failure() == "TOKEN_IS_PAUSED"
    coin.deleted = True
    assert transfers.failure() == "TOKEN_WAS_DELETED"


@pytest.mark.parametrize(
    ("limit", "used", "failure"),
    [
        (0, 0, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (2, 2, "NO_REMAINING_AUTOMATIC_ASSOCIATIONS"),
        (2, 1, None),
        (-1, 50, None),
    ],
    ids=["none allowed", "all used", "one left", "no limit"],
)
def test_automatic_associations_follow_the_limit(network, limit, used, failure):
    coin, known = charge(network, COIN), network.world.tokens
    known.dissociate(coin, BOB, 1)
    network.world.accounts[BOB].max_automatic_token_associations = limit
    known.automatic_associations[BOB] = used
    transfers = send(network, coin, ADA, BOB, 5)
    assert transfers.failure() == failure
    if failure is None:
        (association,) = transfers.settle()["automatic_token_associations"]
        assert association["account_id"] == BOB
        assert coin.relationships[BOB].automatic
        assert known.automatic_associations[BOB] == used + 1


def test_a_claim_associates_whatever_the_limit(network):
    coin = charge(network, COIN)
    network.world.tokens.dissociate(coin, BOB, 1)
    transfers = Transfers(network, claimed=True)
    transfers.move(coin, ADA, BOB, 5)
    assert transfers.failure() is None
    transfers.settle()
    assert not coin.relationships[BOB].automatic


def test_transfer_associates_with_no_token_frozen_or_without_kyc(network):
    coin = charge(network, COIN)
    network.world.tokens.dissociate(coin, BOB, 1)
    network.world.accounts[BOB].max_automatic_token_associations = -1
    coin.freeze_key, coin.freeze_default = KEY, True
    assert send(network, coin, ADA, BOB, 5).failure() == "ACCOUNT_FROZEN_FOR_TOKEN"
    coin.kyc_key = KEY
    assert send(network, coin, ADA, BOB, 5).failure() == "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"
