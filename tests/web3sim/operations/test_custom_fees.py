"""Custom fees that transfers are charged."""

import pytest

from mirror.core.values.hapi.messages import ContractID, Key
from tests.web3sim.rows import contract
from tests.web3sim.state.states import long_zero
from tests.web3sim.system_contracts.simulation import Simulation, logged

TREASURY, ALICE, BOB, CAROL, COLLECTOR, OTHER_COLLECTOR = 1001, 2001, 2002, 2003, 2010, 2011
TOKEN, PAID, PAID_AGAIN, DEEP, UNIQUE = 3001, 3002, 3003, 3004, 3005
CONTRACT, OTHER_CONTRACT = 5001, 5002
TRANSFER, V2 = (
    "transferToken(address,address,address,int64)",
    "cryptoTransfer(TransferList,TokenTransferListV2[])",
)
TRANSFER_NFT = "transferNFT(address,address,address,int64)"
TOO_LITTLE = "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE"
NEW_ADDRESS = bytes.fromhex("830621be5815d8a1cd6f2a96d18013c6ad61c737")


def fixed(amount, token=None, *, collector=COLLECTOR, exempt=False):
    return {
        "all_collectors_are_exempt": exempt,
        "amount": amount,
        "collector_account_id": collector,
        "denominating_token_id": token,
    }


def fractional(numerator, denominator, *, least=0, most=None, net=False, collector=COLLECTOR):
    return {
        "all_collectors_are_exempt": False,
        "collector_account_id": collector,
        "denominator": denominator,
        "maximum_amount": most,
        "minimum_amount": least,
        "net_of_transfers": net,
        "numerator": numerator,
    }


def royalty(numerator, denominator, *, fallback=None, collector=COLLECTOR):
    return {
        "all_collectors_are_exempt": False,
        "collector_account_id": collector,
        "denominator": denominator,
        "fallback_fee": fallback,
        "numerator": numerator,
    }


def fallback(amount, token=None):
    return {"amount": amount, "denominating_token_id": token}


@pytest.fixture
def ledger(build):
    for number in (TREASURY, ALICE, BOB, CAROL, COLLECTOR, OTHER_COLLECTOR, 2009):
        build.entity(number, balance=1000)
    for number in (TOKEN, PAID, PAID_AGAIN, DEEP, UNIQUE):
        build.entity(number, type="TOKEN")
        build.token(number, type="NON_FUNGIBLE_UNIQUE" if number == UNIQUE else "FUNGIBLE_COMMON")
        for account in (TREASURY, ALICE, BOB, CAROL, COLLECTOR, OTHER_COLLECTOR):
            held = {ALICE: 3, TREASURY: 1}.get(account, 0) if number == UNIQUE else 1000
            build.holding(number, account=account, balance=held)
    for serial_number in (1, 2, 3):
        build.nft(UNIQUE, serial_number, account=ALICE)
    build.nft(UNIQUE, 4, account=TREASURY)
    return build


def send(calls, amount, *, sender=ALICE, receiver=BOB, token=TOKEN):
    return calls.code(TRANSFER, *map(long_zero, (token, sender, receiver)), amount)


# FIXED


def test_a_fixed_fee_in_hbar_is_paid_by_the_sender(ledger):
    ledger.custom_fee(TOKEN, fixed_fees=[fixed(10), fixed(5, collector=OTHER_COLLECTOR)])
    calls = Simulation()
    assert send(calls, 100) == "SUCCESS"
    assert calls.balances(TOKEN, ALICE, BOB) == [900, 1100]
    assert calls.hbars(ALICE, COLLECTOR, OTHER_COLLECTOR) == [985, 1010, 1005]


def test_a_fixed_fee_in_a_token_is_paid_by_the_sender_and_logged(ledger):
    ledger.custom_fee(TOKEN, fixed_fees=[fixed(10, PAID), fixed(7, TOKEN)])
    calls = Simulation()
    answer = calls.ask(TRANSFER, *map(long_zero, (TOKEN, ALICE, BOB)), 100)
    assert calls.balances(TOKEN, ALICE, BOB, COLLECTOR) == [893, 1100, 1007]
    assert calls.balances(PAID, ALICE, COLLECTOR) == [990, 1010]
    assert [logged(log) for log in answer.logs] == [
        (TOKEN, ALICE, BOB, 100),
        (TOKEN, ALICE, COLLECTOR, 7),
        (PAID, ALICE, COLLECTOR, 10),
    ]


@pytest.mark.parametrize("sender", [TREASURY, COLLECTOR, OTHER_COLLECTOR, ALICE])
def test_the_treasury_and_collectors_are_exempt(ledger, sender):
    fees = [fixed(10), fixed(20, exempt=True), fixed(5, collector=OTHER_COLLECTOR)]
    ledger.custom_fee(TOKEN, fixed_fees=fees)
    calls = Simulation()
    assert send(calls, 1, sender=sender) == "SUCCESS"
    expected = {
        TREASURY: [1000, 1000, 1000],
        COLLECTOR: [995, 1005, 1000],
        OTHER_COLLECTOR: [1010, 990, 1000],
        ALICE: [1030, 1005, 965],
    }[sender]
    assert calls.hbars(COLLECTOR, OTHER_COLLECTOR, ALICE) == expected


@pytest.mark.parametrize(
    ("fee", "code"),
    [
        (fixed(1001), TOO_LITTLE),
        (fixed(1001, PAID), TOO_LITTLE),
        (fixed(901, TOKEN), TOO_LITTLE),
        (fixed(1, 3009), "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (fixed(1, 2999), "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (fixed(900, TOKEN), "SUCCESS"),
    ],
)
def test_a_sender_has_to_have_the_fee(ledger, fee, code):
    ledger.entity(3009, type="TOKEN")
    ledger.token(3009)
    ledger.custom_fee(TOKEN, fixed_fees=[fee])
    calls = Simulation()
    assert send(calls, 100) == code


# FRACTIONAL


@pytest.mark.parametrize(
    ("fee", "fee_paid"),
    [
        (fractional(1, 10), 10),
        (fractional(1, 3), 33),
        (fractional(1, 1000), 0),
        (fractional(1, 1000, least=2), 2),
        (fractional(1, 10, most=4), 4),
        (fractional(1, 1), 100),
    ],
)
def test_fractional_fee_is_paid_by_receiver_or_sender(ledger, fee, fee_paid):
    ledger.custom_fee(TOKEN, fractional_fees=[fee])
    calls = Simulation()
    assert send(calls, 100) == "SUCCESS"
    assert calls.balances(TOKEN, ALICE, BOB, COLLECTOR) == [900, 1100 - fee_paid, 1000 + fee_paid]
    ledger.custom_fee(PAID, fractional_fees=[fee | {"net_of_transfers": True}])
    assert send(calls, 100, token=PAID) == "SUCCESS"
    assert calls.balances(PAID, ALICE, BOB, COLLECTOR) == [900 - fee_paid, 1100, 1000 + fee_paid]


def move_fungible(calls, *adjustments):
    units = [(long_zero(account), amount, False) for account, amount in adjustments]
    return calls.code(V2, ([],), [(long_zero(TOKEN), units, [])])


def test_receivers_pay_a_fractional_fee_in_proportion(ledger):
    ledger.custom_fee(TOKEN, fractional_fees=[fractional(1, 10)])
    calls = Simulation()
    assert move_fungible(calls, (ALICE, -39), (BOB, 19), (CAROL, 20)) == "SUCCESS"
    # A tenth of 39 is 3, of which 1 each, and one more.
    assert calls.balances(TOKEN, ALICE, BOB, CAROL, COLLECTOR) == [961, 1017, 1019, 1003]


def test_of_several_senders_each_causes_its_share_of_a_fractional_fee(ledger):
    ledger.custom_fee(TOKEN, fractional_fees=[fractional(1, 10)])
    calls = Simulation()
    assert move_fungible(calls, (ALICE, -30), (CAROL, -70), (BOB, 100)) == "SUCCESS"
    assert calls.balances(TOKEN, BOB, COLLECTOR) == [1090, 1010]


def test_receivers_that_are_exempt_pay_no_fractional_fee(ledger):
    ledger.custom_fee(TOKEN, fractional_fees=[fractional(1, 10)])
    calls = Simulation()
    assert move_fungible(calls, (ALICE, -110), (BOB, 50), (TREASURY, 50), (COLLECTOR, 10)) == "SUCCESS"
    assert calls.balances(TOKEN, BOB, TREASURY, COLLECTOR) == [1045, 1050, 1015]
    assert send(calls, 10, receiver=TREASURY) == "SUCCESS"
    assert calls.balances(TOKEN, TREASURY, COLLECTOR) == [1060, 1015]


def test_a_fractional_fee_can_not_be_more_than_what_moves(ledger):
    ledger.custom_fee(TOKEN, fractional_fees=[fractional(1, 2), fractional(1, 2), fractional(1, 2)])
    assert send(Simulation(), 100) == TOO_LITTLE
    ledger.custom_fee(PAID, fractional_fees=[fractional(1, 10, least=50)])
    assert send(Simulation(), 49, token=PAID) == TOO_LITTLE
    assert send(Simulation(), 50, token=PAID) == "SUCCESS"


def test_a_fee_on_top_uses_more_of_an_allowance(ledger):
    ledger.custom_fee(TOKEN, fractional_fees=[fractional(1, 10, net=True)])
    ledger.allowance("token", owner=ALICE, spender=CAROL, token_id=TOKEN, amount=115, amount_granted=115)
    calls = Simulation(sender=CAROL)
    signature = "transferFrom(address,address,address,uint256)"
    assert calls.code(signature, *map(long_zero, (TOKEN, ALICE, BOB)), 100) == "SUCCESS"
    assert calls.overlay.token_allowance(TOKEN, ALICE, CAROL) == 5
    assert calls.balances(TOKEN, ALICE, BOB, COLLECTOR) == [890, 1100, 1010]


# ROYALTIES


def sell(calls, *serial_numbers, hbar=0, units=0, sender=ALICE, receiver=BOB):
    """Move serials for hbar and units of PAID."""
    pays = ([(long_zero(receiver), -hbar, False), (long_zero(sender), hbar, False)] if hbar else [],)
    tokens: list[object] = [
        (
            long_zero(UNIQUE),
            [],
            [(long_zero(sender), long_zero(receiver), number, False) for number in serial_numbers],
        )
    ]
    if units:
        paid = [(long_zero(receiver), -units, False), (long_zero(sender), units, False)]
        tokens.append((long_zero(PAID), paid, []))
    return calls.code(V2, pays, tokens)


def test_a_royalty_is_a_part_of_what_the_sender_gets(ledger):
    ledger.custom_fee(UNIQUE, royalty_fees=[royalty(1, 10), royalty(1, 100, collector=OTHER_COLLECTOR)])
    calls = Simulation()
    # Two serials at once: only once.
    assert sell(calls, 1, 2, hbar=200, units=100) == "SUCCESS"
    assert calls.hbars(ALICE, BOB, COLLECTOR, OTHER_COLLECTOR) == [1178, 800, 1020, 1002]
    assert calls.balances(PAID, ALICE, BOB, COLLECTOR, OTHER_COLLECTOR) == [1089, 900, 1010, 1001]
    assert [calls.owner(UNIQUE, number) for number in (1, 2)] == [BOB, BOB]


def test_without_value_the_receiver_pays_a_fallback_once(ledger):
    fees = [royalty(1, 10, fallback=fallback(30)), royalty(1, 10, fallback=fallback(4, PAID))]
    ledger.custom_fee(UNIQUE, royalty_fees=fees)
    calls = Simulation()
    assert sell(calls, 1, 2) == "SUCCESS"
    assert calls.hbars(ALICE, BOB, COLLECTOR) == [1000, 970, 1030]
    assert calls.balances(PAID, BOB, COLLECTOR) == [996, 1004]
    assert sell(calls, 3, hbar=50) == "SUCCESS"
    assert calls.hbars(ALICE, BOB, COLLECTOR) == [1040, 920, 1040]


def test_without_value_and_fallback_nothing_is_paid(ledger):
    ledger.custom_fee(UNIQUE, royalty_fees=[royalty(1, 10)])
    calls = Simulation()
    assert sell(calls, 1) == "SUCCESS"
    assert calls.hbars(ALICE, BOB, COLLECTOR) == [1000, 1000, 1000]


def test_the_treasury_pays_no_royalty_as_sender_and_no_fallback_as_receiver(ledger):
    ledger.custom_fee(UNIQUE, royalty_fees=[royalty(1, 10, fallback=fallback(30))])
    calls = Simulation()
    assert sell(calls, 4, hbar=100, sender=TREASURY) == "SUCCESS"
    assert sell(calls, 1, receiver=TREASURY) == "SUCCESS"
    assert calls.hbars(TREASURY, COLLECTOR) == [1100, 1000]


def test_a_receiver_pays_the_fallback_whoever_calls(ledger):
    key = Key(contractID=ContractID(contractNum=OTHER_CONTRACT)).SerializeToString()
    contract(ledger, OTHER_CONTRACT, b"", key=key, balance=500)
    ledger.holding(UNIQUE, account=OTHER_CONTRACT)
    ledger.custom_fee(UNIQUE, royalty_fees=[royalty(1, 10, fallback=fallback(30))])
    calls = Simulation()
    assert calls.code(TRANSFER_NFT, *map(long_zero, (UNIQUE, ALICE, OTHER_CONTRACT)), 1) == "SUCCESS"
    assert calls.hbars(OTHER_CONTRACT) == [470]


def test_an_account_that_just_came_into_being_pays_no_fee(ledger):
    ledger.custom_fee(UNIQUE, royalty_fees=[royalty(1, 10, fallback=fallback(30))])
    calls = Simulation()
    assert calls.code(TRANSFER_NFT, *map(long_zero, (UNIQUE, ALICE)), NEW_ADDRESS, 1) == TOO_LITTLE
    assert calls.overlay.account_at(NEW_ADDRESS) is None


def test_wrong_token_type_is_refused_by_the_fees(ledger):
    ledger.custom_fee(UNIQUE, royalty_fees=[royalty(1, 10)])
    ledger.custom_fee(TOKEN, fixed_fees=[fixed(1)])
    expected = "ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON"
    assert send(Simulation(), 1, token=UNIQUE) == expected
    code = Simulation().code(TRANSFER_NFT, *map(long_zero, (TOKEN, ALICE, BOB)), 1)
    assert code == "NFT_TRANSFERS_ONLY_ALLOWED_FOR_NON_FUNGIBLE_UNIQUE"


# LEVELS


def test_fees_are_charged_on_fees_up_to_a_depth(ledger):
    ledger.custom_fee(TOKEN, fixed_fees=[fixed(10, PAID)])
    ledger.custom_fee(PAID, fixed_fees=[fixed(5, PAID_AGAIN, collector=OTHER_COLLECTOR)])
    ledger.custom_fee(PAID_AGAIN, fixed_fees=[fixed(3)])
    calls = Simulation()
    assert send(calls, 100) == "SUCCESS"
    assert calls.balances(PAID, ALICE, COLLECTOR) == [990, 1010]
    assert calls.balances(PAID_AGAIN, ALICE, OTHER_COLLECTOR) == [995, 1005]
    assert calls.hbars(ALICE, COLLECTOR) == [997, 1003]


def test_a_fourth_level_of_fees_is_too_deep(ledger):
    for token, other in ((TOKEN, PAID), (PAID, PAID_AGAIN), (PAID_AGAIN, DEEP)):
        ledger.custom_fee(token, fixed_fees=[fixed(1, other)])
    assert send(Simulation(), 100) == "CUSTOM_FEE_CHARGING_EXCEEDED_MAX_RECURSION_DEPTH"
    assert send(Simulation(), 100, token=PAID) == "SUCCESS"


@pytest.mark.parametrize(("collectors", "code"), [(8, "SUCCESS"), (9, None)])
def test_fees_change_no_more_than_twenty_balances(ledger, collectors, code):
    numbers = range(4001, 4001 + collectors)
    for number in numbers:
        ledger.entity(number)
        ledger.holding(PAID, account=number)
    # Two balances of what is asked, two of the payer, and those of the collectors.
    fees = [fixed(1, token, collector=number) for number in numbers for token in (None, PAID)]
    ledger.custom_fee(TOKEN, fixed_fees=fees)
    assert send(Simulation(), 1) == (code or "CUSTOM_FEE_CHARGING_EXCEEDED_MAX_ACCOUNT_AMOUNTS")


def test_nothing_is_lost_or_made_by_fees(ledger):
    ledger.custom_fee(
        TOKEN,
        fixed_fees=[fixed(3), fixed(4, PAID), fixed(2, TOKEN)],
        fractional_fees=[fractional(1, 7), fractional(1, 9, net=True, collector=OTHER_COLLECTOR)],
    )
    ledger.custom_fee(PAID, fractional_fees=[fractional(1, 3, least=1)])
    calls = Simulation()
    assert move_fungible(calls, (ALICE, -101), (CAROL, -11), (BOB, 112)) == "SUCCESS"
    everyone = (TREASURY, ALICE, BOB, CAROL, COLLECTOR, OTHER_COLLECTOR)
    for token in (TOKEN, PAID):
        assert sum(calls.balances(token, *everyone)) == 6000
    assert sum(calls.hbars(*everyone)) == 6000


# ROWS THAT LEAVE OUT WHAT IS EMPTY


def test_fee_without_collector_is_not_charged(ledger):
    ledger.custom_fee(
        TOKEN, fixed_fees=[fixed(5, collector=None)], fractional_fees=[{"numerator": 1, "denominator": 2}]
    )
    calls = Simulation()
    assert send(calls, 100) == "SUCCESS"
    assert (calls.hbars(ALICE), calls.balances(TOKEN, BOB)) == ([1000], [1100])


def test_what_a_row_leaves_out_of_a_fee_is_empty(ledger):
    ledger.custom_fee(
        TOKEN,
        fixed_fees=[{"amount": 3, "collector_account_id": COLLECTOR}],
        fractional_fees=[
            {"collector_account_id": COLLECTOR, "denominator": 10, "minimum_amount": 1, "numerator": 1}
        ],
    )
    ledger.custom_fee(
        UNIQUE,
        royalty_fees=[
            {"collector_account_id": COLLECTOR, "denominator": 10, "numerator": 1},
            {
                "collector_account_id": COLLECTOR,
                "denominator": 10,
                "fallback_fee": {"amount": 4},
                "numerator": 1,
            },
        ],
    )
    calls = Simulation()
    assert send(calls, 100) == "SUCCESS"
    assert sell(calls, 1) == "SUCCESS"
    assert calls.balances(TOKEN, BOB, COLLECTOR) == [1090, 1010]
    assert calls.hbars(ALICE, BOB, COLLECTOR) == [997, 996, 1007]
