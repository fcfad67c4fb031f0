"""What a call of the account service changes is what ingesting its transaction changes."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.stream.record.compose import account
from mirror.values.hapi import CryptoUpdateTransactionBody
from tests.tokens.compose import TokenStream
from tests.web3sim.state.states import long_zero
from tests.web3sim.system_contracts.as_ingested import HOLDER, OPEN, OTHER, changes_of, stream
from tests.web3sim.system_contracts.calls import Calls
from web3sim.state.proxies import ACCOUNT_SERVICE, REDIRECT_FOR_ACCOUNT

pytestmark = pytest.mark.django_db(transaction=True)

APPROVE, OWN_APPROVE = "hbarApprove(address,address,int256)", "hbarApprove(address,int256)"
SET = "setUnlimitedAutomaticAssociations(bool)"


def approves(tinybars: int) -> Callable[[TokenStream], Any]:
    granted = {"owner": account(HOLDER), "spender": account(OTHER), "amount": tinybars}
    return lambda made: made.happen("cryptoApproveAllowance", {"cryptoAllowances": [granted]}, payer=HOLDER)


def takes(most: int, number: int) -> Callable[[TokenStream], Any]:
    update = CryptoUpdateTransactionBody(
        accountIDToUpdate=account(number), max_automatic_token_associations={"value": most}
    )
    return lambda made: made.happen("cryptoUpdateAccount", update, payer=HOLDER)


@pytest.mark.parametrize(
    ("target", "signature", "arguments", "transaction", "prepare"),
    [
        (None, APPROVE, (long_zero(HOLDER), long_zero(OTHER), 70), approves(70), None),
        (None, APPROVE, (long_zero(HOLDER), long_zero(OTHER), 5), approves(5), approves(70)),
        (None, APPROVE, (long_zero(HOLDER), long_zero(OTHER), 0), approves(0), approves(70)),
        (HOLDER, OWN_APPROVE, (long_zero(OTHER), 70), approves(70), None),
        (HOLDER, SET, (True,), takes(-1, HOLDER), None),
        (OPEN, SET, (False,), takes(0, OPEN), None),
    ],
)
def test_a_call_changes_the_rows_that_its_transaction_does(
    target: int | None,
    signature: str,
    arguments: tuple[Any, ...],
    transaction: Callable[[TokenStream], Any],
    prepare: Callable[[TokenStream], Any] | None,
) -> None:
    made = stream()
    if prepare is not None:
        prepare(made)

    def call(calls: Calls) -> None:
        calls.service = ACCOUNT_SERVICE
        if target is None:
            assert calls.code(signature, *arguments) == "SUCCESS"
        else:
            assert not calls.at(long_zero(target), REDIRECT_FOR_ACCOUNT, signature, *arguments).reverted
        assert calls.journal.rows()

    changes_of(call, transaction, made, sender=HOLDER)
