"""Relationships of accounts with tokens: associations, freezing, KYC."""

from collections.abc import Callable, Sequence

from web3sim.engine.interface import Address
from web3sim.operations.prices import ASSOCIATE, DISSOCIATE, TOKEN_OPERATION
from web3sim.operations.signers import Signers
from web3sim.operations.tokens.associate import associate, dissociate
from web3sim.operations.tokens.statuses import freeze, grant_kyc, revoke_kyc, unfreeze
from web3sim.state.overlay import Overlay
from web3sim.system_contracts.functions import SUCCESS, Function, Handler, Invocation, costs

_Operation = Callable[[Overlay, Signers, Address, Sequence[Address]], None]


def _of_account_and_token(operation: _Operation) -> Handler:
    """Return the handler of an operation on an account and one token."""

    def handler(invocation: Invocation) -> bytes:
        account, token = invocation.decoded()
        operation(invocation.ledger, invocation.signers, account, [token])
        return SUCCESS

    return handler


def _of_account_and_tokens(operation: _Operation) -> Handler:
    """Return the handler of an operation on an account and several tokens."""

    def handler(invocation: Invocation) -> bytes:
        account, tokens = invocation.decoded()
        operation(invocation.ledger, invocation.signers, account, tokens)
        return SUCCESS

    return handler


def _of_caller_and_target(operation: _Operation) -> Handler:
    """Return the handler of an operation on the caller and the token that was called."""

    def handler(invocation: Invocation) -> bytes:
        assert invocation.target is not None
        operation(invocation.ledger, invocation.signers, invocation.call.sender, [invocation.target])
        return SUCCESS

    return handler


def _of_token_and_account(operation: Callable[[Overlay, Signers, Address, Address], None]) -> Handler:
    """Return the handler of an operation on the relationship of a token, given first, and an account."""

    def handler(invocation: Invocation) -> bytes:
        token, account = invocation.decoded()
        operation(invocation.ledger, invocation.signers, token, account)
        return SUCCESS

    return handler


_ASSOCIATIONS = (
    ("associate", associate, costs(ASSOCIATE)),
    ("dissociate", dissociate, costs(DISSOCIATE)),
)
_STATUS = costs(TOKEN_OPERATION)

FUNCTIONS = (
    *(
        Function(signature, handler(operation), gas=gas, writes=True)
        for name, operation, gas in _ASSOCIATIONS
        for signature, handler in (
            (f"{name}Token(address,address)", _of_account_and_token),
            (f"{name}Tokens(address,address[])", _of_account_and_tokens),
        )
    ),
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
PROXY_FUNCTIONS = tuple(
    Function(f"{name}()", _of_caller_and_target(operation), gas=gas, writes=True)
    for name, operation, gas in _ASSOCIATIONS
)
