"""Approvals: who may take units or serials of whoever calls, by the service or by the token itself."""

from web3sim.engine.interface import Address
from web3sim.operations.prices import APPROVE
from web3sim.operations.refusals import Refused
from web3sim.operations.tokens.allowances import approve_for_all, approve_serial, approve_units
from web3sim.system_contracts.abi import int64_of, word_of
from web3sim.system_contracts.functions import SUCCESS, Function, Invocation, costs
from web3sim.system_contracts.token_service.erc.events import log_approval, log_approval_for_all

_TRUE = word_of(True)
# What the ledger calls these is, as ERC-721 has it, one thing.
_NOT_OWNER = frozenset({
    "DELEGATING_SPENDER_DOES_NOT_HAVE_APPROVE_FOR_ALL",
    "INVALID_FULL_PREFIX_SIGNATURE_FOR_PRECOMPILE",
})  # fmt: skip


def _approve(invocation: Invocation) -> bytes:
    token, spender, amount = invocation.decoded()
    _approve_units(invocation, token, spender, amount)
    return SUCCESS


def _approve_nft(invocation: Invocation) -> bytes:
    token, spender, serial_number = invocation.decoded()
    _approve_serial(invocation, token, spender, serial_number)
    return SUCCESS


def _set_approval_for_all(invocation: Invocation) -> bytes:
    token, operator, approved = invocation.decoded()
    _approve_for_all(invocation, token, operator, approved=approved)
    return SUCCESS


def _erc_approve(invocation: Invocation) -> bytes:
    """Units of a fungible token, which answers true; a serial of a unique one, which answers nothing."""
    spender, number = invocation.decoded()
    assert invocation.target is not None
    if not invocation.token().unique:
        _approve_units(invocation, invocation.target, spender, number)
        return _TRUE
    try:
        _approve_serial(invocation, invocation.target, spender, number)
    except Refused as refused:
        if refused.code in _NOT_OWNER:
            raise Refused("SENDER_DOES_NOT_OWN_NFT_SERIAL_NO") from None
        raise
    return b""


def _erc_set_approval_for_all(invocation: Invocation) -> bytes:
    operator, approved = invocation.decoded()
    assert invocation.target is not None
    _approve_for_all(invocation, invocation.target, operator, approved=approved)
    return b""


def _approve_units(invocation: Invocation, token: Address, spender: Address, amount: int) -> None:
    approval = approve_units(invocation.ledger, invocation.sender(), token, spender, int64_of(amount))
    log_approval(invocation, approval.token, approval.owner, approval.spender, amount)


def _approve_serial(invocation: Invocation, token: Address, spender: Address, serial_number: int) -> None:
    ledger, signers, sender = invocation.ledger, invocation.signers, invocation.sender()
    approval = approve_serial(ledger, signers, sender, token, spender, int64_of(serial_number))
    log_approval(invocation, approval.token, approval.owner, approval.spender, serial_number)


def _approve_for_all(invocation: Invocation, token: Address, operator: Address, *, approved: bool) -> None:
    approval = approve_for_all(invocation.ledger, invocation.sender(), token, operator, approved=approved)
    log_approval_for_all(invocation, approval.token, approval.owner, operator, approved=approved)


_GAS = costs(APPROVE)

FUNCTIONS = (
    Function("approve(address,address,uint256)", _approve, gas=_GAS, writes=True),
    Function("approveNFT(address,address,uint256)", _approve_nft, gas=_GAS, writes=True),
    Function("setApprovalForAll(address,address,bool)", _set_approval_for_all, gas=_GAS, writes=True),
)
PROXY_FUNCTIONS = (
    Function("approve(address,uint256)", _erc_approve, "(bool)", gas=_GAS, writes=True),
    Function("setApprovalForAll(address,bool)", _erc_set_approval_for_all, "()", gas=_GAS, writes=True),
)
