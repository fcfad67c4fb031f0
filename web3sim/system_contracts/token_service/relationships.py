"""Relationships of accounts with tokens: associations, freezing, KYC."""

from collections.abc import Callable

from web3sim.engine.interface import Address
from web3sim.operations.associate import associate, dissociate
from web3sim.operations.prices import ASSOCIATE, DISSOCIATE, TOKEN_OPERATION
from web3sim.operations.signers import Signers
from web3sim.operations.statuses import freeze, grant_kyc, revoke_kyc, unfreeze
from web3sim.state.overlay import Overlay
from web3sim.system_contracts.abi import word_of
from web3sim.system_contracts.functions import Function, Handler, Invocation, costs

_SUCCESS = word_of(22)


def _associate_token(invocation: Invocation) -> bytes:
    account, token = invocation.decoded()
    associate(invocation.ledger, invocation.signers, account, [token])
    return _SUCCESS


def _associate_tokens(invocation: Invocation) -> bytes:
    account, tokens = invocation.decoded()
    associate(invocation.ledger, invocation.signers, account, tokens)
    return _SUCCESS


def _associate(invocation: Invocation) -> bytes:
    """The caller, with the token that was called."""
    assert invocation.target is not None
    associate(invocation.ledger, invocation.signers, invocation.call.sender, [invocation.target])
    return _SUCCESS


def _dissociate_token(invocation: Invocation) -> bytes:
    account, token = invocation.decoded()
    dissociate(invocation.ledger, invocation.signers, account, [token])
    return _SUCCESS


def _dissociate_tokens(invocation: Invocation) -> bytes:
    account, tokens = invocation.decoded()
    dissociate(invocation.ledger, invocation.signers, account, tokens)
    return _SUCCESS


def _dissociate(invocation: Invocation) -> bytes:
    """The caller, from the token that was called."""
    assert invocation.target is not None
    dissociate(invocation.ledger, invocation.signers, invocation.call.sender, [invocation.target])
    return _SUCCESS


def _of_token_and_account(operation: Callable[[Overlay, Signers, Address, Address], None]) -> Handler:
    """Return the handler of an operation on the relationship of a token, given first, and an account."""

    def handler(invocation: Invocation) -> bytes:
        token, account = invocation.decoded()
        operation(invocation.ledger, invocation.signers, token, account)
        return _SUCCESS

    return handler


_ASSOCIATION, _DISSOCIATION, _STATUS = costs(ASSOCIATE), costs(DISSOCIATE), costs(TOKEN_OPERATION)

FUNCTIONS = (
    Function("associateToken(address,address)", _associate_token, gas=_ASSOCIATION, writes=True),
    Function("associateTokens(address,address[])", _associate_tokens, gas=_ASSOCIATION, writes=True),
    Function("dissociateToken(address,address)", _dissociate_token, gas=_DISSOCIATION, writes=True),
    Function("dissociateTokens(address,address[])", _dissociate_tokens, gas=_DISSOCIATION, writes=True),
    *(
        Function(f"{name}(address,address)", _of_token_and_account(operation), gas=_STATUS, writes=True)
        for name, operation in (
            ("freezeToken", freeze),
            ("unfreezeToken", unfreeze),
            ("grantTokenKyc", grant_kyc),
            ("revokeTokenKyc", revoke_kyc),
        )
    ),
)
PROXY_FUNCTIONS = (
    Function("associate()", _associate, gas=_ASSOCIATION, writes=True),
    Function("dissociate()", _dissociate, gas=_DISSOCIATION, writes=True),
)
