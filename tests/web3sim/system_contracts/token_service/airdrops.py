"""A ledger of airdrops, and the arguments of their functions."""

import pytest

from tests.web3sim.rows import contract
from tests.web3sim.state.states import long_zero
from tests.web3sim.system_contracts.token_service.moving import (
    ALICE,
    BOB,
    CALLER,
    CAROL,
    CONTRACT,
    DAVE,
    FRANK,
    KEY,
    OTHER_CONTRACT,
    TREASURY,
    contract_key,
)
from web3sim.state.tables.rows import AirdropKey

COLLECTOR = 2010
TOKEN, UNIQUE, PAUSED, KNOWN, ROYAL = 3001, 3002, 3003, 3004, 3005
HBARS = 10**10

AIRDROP, CANCEL, CLAIM = (
    "airdropTokens(TokenTransferListV2[])",
    "cancelAirdrops(PendingAirdrop[])",
    "claimAirdrops(PendingAirdrop[])",
)
REJECT = "rejectTokens(address,address[],NftID[])"


@pytest.fixture
def ledger(build):
    for number in (TREASURY, ALICE, BOB, CAROL, COLLECTOR):
        build.entity(number, key=KEY, balance=1000)
    build.entity(CALLER, key=KEY, balance=HBARS)
    build.entity(DAVE, max_automatic_token_associations=-1)
    build.entity(FRANK, key=contract_key(OTHER_CONTRACT), receiver_sig_required=True)
    for number in (CONTRACT, OTHER_CONTRACT):
        contract(build, number, b"", key=contract_key(number), balance=HBARS)
    for number in (TOKEN, UNIQUE, PAUSED, KNOWN, ROYAL):
        build.entity(number, type="TOKEN")
    build.token(TOKEN, total_supply=100)
    build.token(UNIQUE, type="NON_FUNGIBLE_UNIQUE", total_supply=3)
    build.token(PAUSED, pause_status="PAUSED")
    build.token(KNOWN, kyc_key=KEY, kyc_status=2)
    build.token(ROYAL, type="NON_FUNGIBLE_UNIQUE")
    for account, held in ((ALICE, 50), (BOB, 0), (FRANK, 0), (OTHER_CONTRACT, 10), (TREASURY, 40)):
        build.holding(TOKEN, account=account, balance=held)
    build.holding(PAUSED, account=ALICE, balance=5)
    build.holding(KNOWN, account=ALICE, balance=5, kyc_status=1)
    for token in (UNIQUE, ROYAL):
        build.holding(token, account=ALICE, balance=2)
        build.holding(token, account=BOB)
        build.holding(token, account=TREASURY, balance=1)
        build.nft(token, 1, account=ALICE)
        build.nft(token, 2, account=ALICE)
        build.nft(token, 3, account=TREASURY)
    return build


def units(token, *adjustments, approved=False):
    return (long_zero(token), [(long_zero(number), amount, approved) for number, amount in adjustments], [])


def serials(token, *moves):
    return (long_zero(token), [], [(long_zero(a), long_zero(b), serial, False) for a, b, serial in moves])


def pending(sender, receiver, token, serial_number=0):
    return (*map(long_zero, (sender, receiver, token)), serial_number)


def waiting(calls, sender, receiver, token, serial_number=0):
    return calls.overlay.pending_airdrop(AirdropKey(sender, receiver, token, serial_number))


def fee(**columns):
    return {"all_collectors_are_exempt": False, "collector_account_id": COLLECTOR} | columns
