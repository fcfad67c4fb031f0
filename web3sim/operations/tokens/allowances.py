"""CryptoApproveAllowance, CryptoDeleteAllowance: who may take units or serials of an owner.

Whoever calls is the owner; of serials also an operator that is approved for all of them.
"""

from dataclasses import replace
from typing import NamedTuple

from web3sim.engine.interface import Address
from web3sim.operations.holdings import associated, owner_of
from web3sim.operations.refusals import Refused, refuse_if, required
from web3sim.operations.signers import Signers
from web3sim.operations.token_lookup import check_usable, named_token
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Entity, Nft, Token

_ZERO_ADDRESS = bytes(20)
#: Spenders that an account may grant something: hbar, units, or all serials of a token.
MOST_ALLOWANCES = 100


class Approval(NamedTuple):
    """The spender is None after a revocation, or if it has no account."""

    token: Token
    owner: int
    spender: int | None


def approve_units(
    ledger: Overlay, owner: Entity, token_address: Address, spender_address: Address, amount: int
) -> Approval:
    """Let a spender take an amount of a fungible token; 0 revokes, for whatever spender.

    Checks, in this order: a spender is named; the token is usable, and fungible; the spender; the amount can
    be reached; the owner is associated; it has not granted too much. An owner may approve itself. Errors:
    Refused.
    """
    refuse_if(spender_address == _ZERO_ADDRESS, "INVALID_ALLOWANCE_SPENDER_ID")
    token = _usable(ledger, token_address)
    refuse_if(token.unique, "NFT_IN_FUNGIBLE_TOKEN_ALLOWANCES")
    spender = ledger.account_id_at(spender_address)
    if spender is None and amount:
        raise Refused("INVALID_ALLOWANCE_SPENDER_ID")
    refuse_if(token.finite and amount > token.max_supply, "AMOUNT_EXCEEDS_TOKEN_MAX_SUPPLY")
    associated(ledger, token, owner.id)
    if spender is not None:
        ledger.put_token_allowance(token.id, owner.id, spender, amount)
        if amount:
            check_allowances(ledger, owner.id)
    return Approval(token, owner.id, spender)


def approve_for_all(
    ledger: Overlay, owner: Entity, token_address: Address, operator_address: Address, *, approved: bool
) -> Approval:
    """Let an operator take all serials that the owner has or gets, or no more.

    Checks, in this order: an operator is named; the token is usable, and unique; the operator, who is not the
    owner; the owner is associated; it has not granted too much. Errors: Refused.
    """
    refuse_if(operator_address == _ZERO_ADDRESS, "INVALID_ALLOWANCE_SPENDER_ID")
    token = _unique(ledger, token_address)
    operator = ledger.account_id_at(operator_address)
    if operator is None and approved:
        raise Refused("INVALID_ALLOWANCE_SPENDER_ID")
    _check_owner(ledger, token, owner.id, operator)
    if operator is not None:
        ledger.put_approved_for_all(token.id, owner.id, operator, approved)
        check_allowances(ledger, owner.id)
    return Approval(token, owner.id, operator)


def approve_serial(
    ledger: Overlay,
    signers: Signers,
    sender: Entity,
    token_address: Address,
    spender_address: Address,
    serial_number: int,
) -> Approval:
    """Let a spender take a serial; the zero address revokes. Errors: Refused."""
    if spender_address == _ZERO_ADDRESS:
        return _revoke_serial(ledger, signers, sender, token_address, serial_number)
    return _approve_serial(ledger, sender, token_address, spender_address, serial_number)


def _approve_serial(
    ledger: Overlay, sender: Entity, token_address: Address, spender_address: Address, serial_number: int
) -> Approval:
    """Approve a spender.

    Checks, in this order: the token is usable, and unique; the spender; the owner, which is not the spender,
    and is associated; the sender is the owner or approved for all; the serial. Errors: Refused.
    """
    token = _unique(ledger, token_address)
    spender = required(ledger.account_id_at(spender_address), "INVALID_ALLOWANCE_SPENDER_ID")
    nft = ledger.nft(token.id, serial_number)
    owner = sender.id if nft is None else owner_of(token, nft)
    _check_owner(ledger, token, owner, spender)
    delegating = None if owner == sender.id else sender.id
    if delegating and not ledger.approved_for_all(token.id, owner, delegating):
        raise Refused("DELEGATING_SPENDER_DOES_NOT_HAVE_APPROVE_FOR_ALL")
    approved = replace(_existing(nft), account_id=owner, spender=spender, delegating_spender=delegating)
    ledger.put_nft(token.id, serial_number, approved)
    return Approval(token, owner, spender)


def _revoke_serial(
    ledger: Overlay, signers: Signers, sender: Entity, token_address: Address, serial_number: int
) -> Approval:
    """Revoke the approval.

    Checks, in this order: the owner's signature, unless the sender is approved for all; the token is usable,
    and unique; the owner is associated; the serial. Errors: Refused.
    """
    token = named_token(ledger, token_address)
    nft = ledger.nft(token.id, serial_number) if token.unique else None
    owner = sender.id if nft is None else owner_of(token, nft)
    if owner != sender.id and not ledger.approved_for_all(token.id, owner, sender.id):
        account = required(ledger.entity(owner), "INVALID_ALLOWANCE_OWNER_ID")
        refuse_if(not signers.has_signed(account), "INVALID_SIGNATURE")
    _unique(ledger, token_address)
    associated(ledger, token, owner)
    revoked = replace(_existing(nft), account_id=owner, spender=None, delegating_spender=None)
    ledger.put_nft(token.id, serial_number, revoked)
    return Approval(token, owner, None)


def check_allowances(ledger: Overlay, owner: int) -> None:
    """Errors: Refused, if an owner has granted too much."""
    refuse_if(ledger.allowances(owner) > MOST_ALLOWANCES, "MAX_ALLOWANCES_EXCEEDED")


def _usable(ledger: Overlay, address: Address) -> Token:
    token = named_token(ledger, address)
    check_usable(ledger, token)
    return token


def _unique(ledger: Overlay, address: Address) -> Token:
    token = _usable(ledger, address)
    refuse_if(not token.unique, "FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES")
    return token


def _existing(nft: Nft | None) -> Nft:
    if nft is None:
        raise Refused("INVALID_TOKEN_NFT_SERIAL_NUMBER")
    return nft


def _check_owner(ledger: Overlay, token: Token, owner: int, spender: int | None) -> None:
    if ledger.entity(owner) is None:
        raise Refused("INVALID_ALLOWANCE_OWNER_ID")
    refuse_if(owner == spender, "SPENDER_ACCOUNT_SAME_AS_OWNER")
    associated(ledger, token, owner)
