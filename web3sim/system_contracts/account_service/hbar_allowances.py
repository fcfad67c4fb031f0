"""Allowances of hbar, in tinybars: of an owner that is named, or of the account that was called."""

from web3sim.operations.crypto_allowances import approve_hbar
from web3sim.operations.prices import APPROVE
from web3sim.operations.refusals import Refused
from web3sim.system_contracts.abi import InvalidArguments, address_at, word_of
from web3sim.system_contracts.functions import SUCCESS, Function, Invocation, costs

_MOST_INT64 = 2**63 - 1


def _allowance(invocation: Invocation) -> bytes:
    owner, spender = (address_at(invocation.arguments, index) for index in (0, 1))
    return _left(invocation, owner, spender)


def _own_allowance(invocation: Invocation) -> bytes:
    assert invocation.target is not None
    return _left(invocation, invocation.target, address_at(invocation.arguments, 0))


def _left(invocation: Invocation, owner_address: bytes, spender_address: bytes) -> bytes:
    ledger = invocation.ledger
    ledger.state.load([owner_address, spender_address])
    owner, spender = map(ledger.account_id_at, (owner_address, spender_address))
    if owner is None:
        raise Refused("INVALID_ALLOWANCE_OWNER_ID")
    tinybars = 0 if spender is None else ledger.hbar_allowance(owner, spender)
    return SUCCESS + word_of(max(tinybars, 0))


def _approve(invocation: Invocation) -> bytes:
    owner, spender, tinybars = invocation.decoded()
    return _approved(invocation, owner, spender, tinybars)


def _own_approve(invocation: Invocation) -> bytes:
    assert invocation.target is not None
    spender, tinybars = invocation.decoded()
    return _approved(invocation, invocation.target, spender, tinybars)


def _approved(invocation: Invocation, owner: bytes, spender: bytes, tinybars: int) -> bytes:
    if abs(tinybars) > _MOST_INT64:
        raise InvalidArguments(f"{tinybars} are more tinybars than a transaction can name")
    approve_hbar(invocation.ledger, invocation.signers, owner, spender, tinybars)
    return SUCCESS


_GAS = costs(APPROVE)

FUNCTIONS = (
    Function("hbarAllowance(address,address)", _allowance, "(int64,int256)", tells_code=False),
    Function("hbarApprove(address,address,int256)", _approve, gas=_GAS, writes=True, tells_code=False),
)
PROXY_FUNCTIONS = (
    Function("hbarAllowance(address)", _own_allowance, "(int64,int256)", tells_code=False),
    Function("hbarApprove(address,int256)", _own_approve, gas=_GAS, writes=True, tells_code=False),
)
