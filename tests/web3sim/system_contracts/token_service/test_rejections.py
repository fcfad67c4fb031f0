"""Tokens given back to their treasuries."""

import pytest

from tests.web3sim.state.states import long_zero
from tests.web3sim.system_contracts.calls import words
from tests.web3sim.system_contracts.simulation import Simulation
from tests.web3sim.system_contracts.token_service.airdrops import PAUSED, REJECT, TOKEN, UNIQUE, fee, ledger
from tests.web3sim.system_contracts.token_service.moving import ALICE, BOB, CAROL, NEW_ADDRESS, TREASURY

__all__ = ["ledger"]


def test_tokens_are_given_back_to_their_treasuries_without_fees(ledger):
    ledger.custom_fee(TOKEN, fixed_fees=[fee(amount=7, denominating_token_id=None)])
    calls = Simulation()
    answer = calls.ask(REJECT, long_zero(ALICE), [long_zero(TOKEN)], [(long_zero(UNIQUE), 1)])
    assert answer.output == words(22)
    assert calls.balances(TOKEN, ALICE, TREASURY) == [0, 90]
    assert (calls.owner(UNIQUE, 1), calls.hbars(ALICE)) == (TREASURY, [1000])
    assert calls.relationship(TOKEN, ALICE).balance == 0
    assert answer.logs == ()


@pytest.mark.parametrize(
    ("owner", "tokens", "nfts", "code"),
    [
        (ALICE, [], [], "EMPTY_TOKEN_REFERENCE_LIST"),
        (ALICE, [TOKEN, TOKEN], [], "TOKEN_REFERENCE_REPEATED"),
        (ALICE, [], [(UNIQUE, 1), (UNIQUE, 1)], "TOKEN_REFERENCE_REPEATED"),
        (ALICE, [TOKEN], [(UNIQUE, n) for n in range(1, 11)], "TOKEN_REFERENCE_LIST_SIZE_LIMIT_EXCEEDED"),
        (ALICE, [], [(UNIQUE, 0)], "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
        (2999, [TOKEN], [], "INVALID_OWNER_ID"),
        (0, [TOKEN, TOKEN], [], "INVALID_ACCOUNT_ID"),
        (4000, [TOKEN], [], "INVALID_ACCOUNT_ID"),
        (4001, [TOKEN], [], "ACCOUNT_IS_IMMUTABLE"),
        (ALICE, [2999], [], "INVALID_TOKEN_ID"),
        (ALICE, [PAUSED], [], "TOKEN_IS_PAUSED"),
        (CAROL, [TOKEN], [], "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (TREASURY, [TOKEN], [], "ACCOUNT_IS_TREASURY"),
        (BOB, [TOKEN], [], "INSUFFICIENT_TOKEN_BALANCE"),
        (ALICE, [UNIQUE], [], "ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON"),
        (ALICE, [], [(UNIQUE, 9)], "INVALID_NFT_ID"),
        (TREASURY, [], [(UNIQUE, 3)], "ACCOUNT_IS_TREASURY"),
        (BOB, [], [(UNIQUE, 1)], "INVALID_OWNER_ID"),
    ],
)
def test_rejections_are_refused(ledger, owner, tokens, nfts, code):
    ledger.entity(4000, evm_address=NEW_ADDRESS)
    ledger.entity(4001, key=b"\x32\x00")
    references = [(long_zero(token), number) for token, number in nfts]
    calls = Simulation()
    assert calls.code(REJECT, long_zero(owner), [*map(long_zero, tokens)], references) == code
    assert calls.balances(TOKEN, ALICE) == [50]


def test_the_owner_rejects_at_the_address_of_a_token(ledger):
    calls = Simulation(sender=ALICE)
    assert calls.code("rejectTokenFT()", token=TOKEN) == "SUCCESS"
    assert calls.code("rejectTokenNFTs(int64[])", [1, 2], token=UNIQUE) == "SUCCESS"
    assert calls.balances(TOKEN, ALICE) + calls.balances(UNIQUE, ALICE, TREASURY) == [0, 0, 3]
    assert calls.code("rejectTokenFT()", token=TOKEN) == "INSUFFICIENT_TOKEN_BALANCE"
    assert calls.code("rejectTokenNFTs(int64[])", [], token=UNIQUE) == "EMPTY_TOKEN_REFERENCE_LIST"
