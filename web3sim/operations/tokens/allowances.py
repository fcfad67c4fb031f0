"""CryptoApproveAllowance, CryptoDeleteAllowance: who may take units or serials of an owner.

Whoever calls is the owner; of serials also an operator that is approved for all of them. Neither a paused
token nor a frozen relationship refuses approvals.
"""

from dataclasses import replace
from typing import NamedTuple

from web3sim.engine.interface import Address
from web3sim.operations import holdings
from web3sim.operations.rejections import Rejected, reject_if, required
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import Entity, Token


class Approval(NamedTuple):
    """The spender is None after a revocation, or if it has no account."""

    token: Token
    owner: int
    spender: int | None


def approve_fungible(
    ledger: Overlay, owner: Entity, token_at: Address, spender_at: Address, amount: int
) -> Approval:
    """Let a spender take an amount of a fungible token; 0 revokes, for whatever spender.

    Checks, in this order: a spender is named; the token is not deleted, and fungible; the spender; the amount
    can be reached; the owner is associated; it has not granted too much. An owner may approve itself.
    """
    reject_if(holdings.account_number(ledger, spender_at) == 0, "INVALID_ALLOWANCE_SPENDER_ID")
    token = _undeleted(ledger, token_at)
    reject_if(token.unique, "NFT_IN_FUNGIBLE_TOKEN_ALLOWANCES")
    spender = ledger.account_id_at(spender_at)
    reject_if(spender is None and amount, "INVALID_ALLOWANCE_SPENDER_ID")
    reject_if(token.finite and amount > token.max_supply, "AMOUNT_EXCEEDS_TOKEN_MAX_SUPPLY")
    holdings.associated(ledger, token, owner.id)
    if spender is not None:
        ledger.put_token_allowance(token.id, owner.id, spender, amount)
        if amount:
            holdings.check_allowances(ledger, owner.id)
    return Approval(token, owner.id, spender)


def approve_for_all(
    ledger: Overlay, owner: Entity, token_at: Address, operator_at: Address, *, approved: bool
) -> Approval:
    """Let an operator take all serials that the owner has or gets, or no more.

    Checks, in this order: an operator is named; the token is not deleted, and unique; the operator, who is
    not the owner; the owner is associated; it has not granted too much.
    """
    reject_if(holdings.account_number(ledger, operator_at) == 0, "INVALID_ALLOWANCE_SPENDER_ID")
    token = _undeleted(ledger, token_at)
    reject_if(not token.unique, "FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES")
    operator = ledger.account_id_at(operator_at)
    reject_if(operator is None and approved, "INVALID_ALLOWANCE_SPENDER_ID")
    reject_if(owner.id == operator, "SPENDER_ACCOUNT_SAME_AS_OWNER")
    holdings.associated(ledger, token, owner.id)
    if operator is not None:
        ledger.put_approved_for_all(token.id, owner.id, operator, approved)
        holdings.check_allowances(ledger, owner.id)
    return Approval(token, owner.id, operator)


def approve_nft_serial(
    ledger: Overlay, sender: Entity, token_at: Address, spender_at: Address, serial_number: int
) -> Approval:
    """Let a spender take a serial; an address without a number or an account of its own revokes.

    Checks, in this order: the token is not deleted, and unique; the spender; the owner, who is not the
    spender, and is associated; the sender is the owner or approved for all; the serial.
    """
    spender, revokes = ledger.account_id_at(spender_at), not holdings.account_number(ledger, spender_at)
    token = _undeleted(ledger, token_at)
    reject_if(not token.unique, "FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES")
    reject_if(spender is None and not revokes, "INVALID_ALLOWANCE_SPENDER_ID")
    nft = ledger.nft(token.id, serial_number)
    owner = sender.id if nft is None else holdings.owner_of(token, nft)
    required(ledger.entity(owner), "INVALID_ALLOWANCE_OWNER_ID")
    reject_if(owner == spender, "SPENDER_ACCOUNT_SAME_AS_OWNER")
    holdings.associated(ledger, token, owner)
    delegating = None if revokes or owner == sender.id else sender.id
    if delegating is not None and not ledger.approved_for_all(token.id, owner, delegating):
        raise Rejected("DELEGATING_SPENDER_DOES_NOT_HAVE_APPROVE_FOR_ALL")
    existing = required(nft, "INVALID_TOKEN_NFT_SERIAL_NUMBER")
    approved = replace(existing, account_id=owner, spender=spender, delegating_spender=delegating)
    ledger.put_nft(token.id, serial_number, approved)
    return Approval(token, owner, spender)


def _undeleted(ledger: Overlay, address: Address) -> Token:
    token = holdings.named_token(ledger, address)
    holdings.check_not_deleted(ledger, token)
    return token
