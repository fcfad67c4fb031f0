"""Associations of accounts with tokens."""

from web3sim.operations.associate import associate
from web3sim.operations.prices import ASSOCIATE
from web3sim.system_contracts.abi import word_of
from web3sim.system_contracts.functions import Function, Invocation, costs

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


_GAS = costs(ASSOCIATE)

FUNCTIONS = (
    Function("associateToken(address,address)", _associate_token, gas=_GAS, writes=True),
    Function("associateTokens(address,address[])", _associate_tokens, gas=_GAS, writes=True),
)
PROXY_FUNCTIONS = (Function("associate()", _associate, gas=_GAS, writes=True),)
