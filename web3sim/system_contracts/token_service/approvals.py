"""Approvals: who may take units or serials of whoever calls, by the service or by the token itself."""

from typing import Any

from web3sim.engine.interface import Address
from web3sim.operations.holdings import account_number
from web3sim.operations.rejections import Rejected, Rejection
from web3sim.operations.tokens.allowances import approve_for_all, approve_fungible, approve_nft_serial
from web3sim.system_contracts.abi import InvalidArguments, int64_of
from web3sim.system_contracts.functions import Invocation
from web3sim.system_contracts.token_service.events import log_approval, log_approval_for_all
from web3sim.system_contracts.token_service.transfers import called_token

# As ERC-721 has it, whoever may not approve does not own the serial.
_NOT_OWNER = "DELEGATING_SPENDER_DOES_NOT_HAVE_APPROVE_FOR_ALL"


def approve(invocation: Invocation, token: Address, spender: Address, amount: int) -> bool:
    approval = approve_fungible(invocation.ledger, invocation.sender(), token, spender, int64_of(amount))
    log_approval(invocation, approval, amount)
    return True


def approve_nft(invocation: Invocation, token: Address, spender: Address, serial: int) -> None:
    ledger = invocation.ledger
    approval = approve_nft_serial(ledger, invocation.sender(), token, spender, int64_of(serial))
    if invocation.target is None and account_number(ledger, spender) is None:
        raise InvalidArguments("the event of the service itself names a spender by its number")
    log_approval(invocation, approval, serial)


def set_approval_for_all(invocation: Invocation, token: Address, operator: Address, approved: Any) -> None:
    _approve_for_all(
        invocation, token, operator, approved, ("INVALID_ALLOWANCE_SPENDER_ID", "INVALID_TOKEN_ID")
    )


def erc_approve(invocation: Invocation, token: Address, spender: Address, number: int) -> bool | None:
    """Units of a fungible token, which answers true; a serial of a unique one, which answers nothing."""
    if not called_token(invocation, token).unique:
        return approve(invocation, token, spender, number)
    try:
        approve_nft(invocation, token, spender, number)
        return None
    except Rejected as refused:
        not_owner = refused.code == _NOT_OWNER
        raise Rejected("SENDER_DOES_NOT_OWN_NFT_SERIAL_NO" if not_owner else refused.code) from None


def erc_set_approval_for_all(
    invocation: Invocation, token: Address, operator: Address, approved: Any
) -> None:
    called_token(invocation, token)
    _approve_for_all(invocation, token, operator, approved, ("INVALID_ALLOWANCE_SPENDER_ID",))


def _approve_for_all(
    invocation: Invocation, token: Address, operator: Address, approved: Any, answered: tuple[str, ...]
) -> None:
    """Some refusals are answered by their code, all others revert. Errors: Rejected."""
    sender = invocation.sender()
    try:
        approval = approve_for_all(invocation.ledger, sender, token, operator, approved=approved)
    except Rejected as refused:
        raise Rejected(refused.code, Rejection.CODE if refused.code in answered else None) from None
    log_approval_for_all(invocation, approval, approved=approved)
