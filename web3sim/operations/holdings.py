"""What accounts hold: their relationships with tokens, units, serials and hbar.

Amounts are in a token's smallest unit, those of hbar in tinybars. The functions change the overlay; those
that look first raise Refused.
"""

from dataclasses import replace

from mirror.core.values import entity_id
from web3sim.operations.refusals import Refused, refuse_if, required
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Nft, Relationship, Token

FROZEN, KYC_REVOKED = 1, 2


# CHECKS


def usable_token(ledger: Overlay, token_id: int) -> Token:
    """Return a token that the call has not deleted and that is not paused. Errors: Refused."""
    token = ledger.token(token_id)
    if token is None and is_deleted(ledger, token_id):
        raise Refused("TOKEN_WAS_DELETED")
    return not_paused(token)


def is_deleted(ledger: Overlay, token_id: int) -> bool:
    """Return whether the call has deleted a token."""
    return ledger.token_deleted_at(entity_id.long_zero(token_id)) is not None


def not_paused(token: Token | None) -> Token:
    """Return a token that is there and not paused. Errors: Refused."""
    if token is None:
        raise Refused("INVALID_TOKEN_ID")
    refuse_if(token.pause_status == "PAUSED", "TOKEN_IS_PAUSED")
    return token


def associated(
    ledger: Overlay, token: Token, account_id: int, code: str = "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
) -> Relationship:
    """Return the relationship of an account with a token. Errors: Refused."""
    return required(ledger.relationship(token, account_id), code)


def usable_relationship(ledger: Overlay, token: Token, account_id: int) -> Relationship:
    """Return a relationship through which the token can move.

    Checks, in this order: the account is associated, not frozen, and has KYC. Errors: Refused.
    """
    relationship = associated(ledger, token, account_id)
    check_frozen_and_kyc(token, relationship)
    return relationship


def check_frozen_and_kyc(token: Token, relationship: Relationship) -> None:
    """Errors: Refused."""
    refuse_if(is_frozen(token, relationship), "ACCOUNT_FROZEN_FOR_TOKEN")
    refuse_if(not has_kyc(token, relationship), "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")


def is_frozen(token: Token, relationship: Relationship) -> bool:
    status = relationship.freeze_status
    return (token.freeze_status if status is None else status) == FROZEN


def has_kyc(token: Token, relationship: Relationship) -> bool:
    """Return whether KYC is granted, or the token needs none."""
    status = relationship.kyc_status
    return (token.kyc_status if status is None else status) != KYC_REVOKED


def owner_of(token: Token, nft: Nft) -> int:
    """The account that owns a serial."""
    return nft.account_id or token.treasury_account_id


# CHANGES


def add_units(
    ledger: Overlay, token: Token, account_id: int, amount: int, code: str = "INSUFFICIENT_TOKEN_BALANCE"
) -> None:
    """Change what an associated account has of a token, of a unique one the number of serials.

    Errors: Refused with `code` if it has too little.
    """
    relationship = associated(ledger, token, account_id)
    refuse_if(relationship.balance + amount < 0 and amount < 0, code)
    _change_balance(ledger, relationship, amount)


def _change_balance(ledger: Overlay, relationship: Relationship, amount: int) -> None:
    ledger.put_relationship(replace(relationship, balance=relationship.balance + amount))


def add_tinybars(
    ledger: Overlay, account_id: int, tinybars: int, code: str = "INSUFFICIENT_ACCOUNT_BALANCE"
) -> None:
    """Change the hbar of an account. Errors: Refused with `code` if it has too little."""
    refuse_if(tinybars < 0 and ledger.hbar_balance(account_id) + tinybars < 0, code)
    ledger.add_hbar(account_id, tinybars)


def move_serial(ledger: Overlay, token: Token, serial_number: int, receiver: int) -> None:
    """Give a serial to another associated account; its approvals end."""
    nft = ledger.nft(token.id, serial_number)
    assert nft is not None
    sender = owner_of(token, nft)
    moved = replace(nft, account_id=receiver, spender=None, delegating_spender=None)
    ledger.put_nft(token.id, serial_number, moved)
    # What the sender has is counted by its serials: where history is incomplete it may be less than one.
    _change_balance(ledger, associated(ledger, token, sender), -1)
    _change_balance(ledger, associated(ledger, token, receiver), 1)
