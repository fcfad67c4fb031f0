"""Tokens, and what accounts hold of them: relationships, units, serials; and hbar.

Amounts are in a token's smallest unit, those of hbar in tinybars. The functions change the overlay; those
that look first raise Refused.
"""

from dataclasses import replace

from mirror.core.values import entity_id
from web3sim.engine.interface import Address
from web3sim.operations.refusals import refuse_if, required
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Entity, Nft, Relationship, Token

UNFROZEN, KYC_GRANTED = 2, 1
FROZEN, KYC_REVOKED = 1, 2
#: The key of an account that has none yet: an empty list.
HOLLOW_KEY = b"\x32\x00"
_NUM_LENGTH = 8
_LONG_ZERO_PREFIX = bytes(12)


# TOKENS AND ACCOUNTS


def token_address(address: Address) -> Address:
    """Return the address of the token that an operation takes: only the number in its last 8 bytes counts."""
    return _LONG_ZERO_PREFIX + address[-_NUM_LENGTH:]


def named_token(ledger: Overlay, address: Address) -> Token:
    """Return the token of an operation, even if paused or deleted by the call itself. Errors: Refused."""
    at = token_address(address)
    return required(ledger.token_at(at) or ledger.token_deleted_at(at), "INVALID_TOKEN_ID")


def check_not_deleted(ledger: Overlay, token: Token) -> None:
    """Errors: Refused."""
    refuse_if(ledger.token(token.id) is None, "TOKEN_WAS_DELETED")


def check_usable(ledger: Overlay, token: Token) -> None:
    """Checks, in this order: the token is not deleted, not paused. Errors: Refused."""
    check_not_deleted(ledger, token)
    refuse_if(token.pause_status == "PAUSED", "TOKEN_IS_PAUSED")


def usable_token(ledger: Overlay, token_id: int) -> Token:
    """Return a token that the call has not deleted and that is not paused. Errors: Refused."""
    return usable_token_at(ledger, entity_id.long_zero(token_id))


def usable_token_at(ledger: Overlay, address: Address) -> Token:
    """Errors: Refused."""
    token = named_token(ledger, address)
    check_usable(ledger, token)
    return token


def existing_account(ledger: Overlay, address: Address, code: str = "INVALID_ACCOUNT_ID") -> Entity:
    """Errors: Refused."""
    return required(ledger.account_at(address), code)


# RELATIONSHIPS


def associated(
    ledger: Overlay, token: Token, account_id: int, code: str = "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
) -> Relationship:
    """Return the relationship of an account with a token. Errors: Refused."""
    return required(ledger.relationship(token, account_id), code)


def unfrozen_relationship(ledger: Overlay, token: Token, account_id: int) -> Relationship:
    """Checks, in this order: the account is associated, not frozen. Errors: Refused."""
    relationship = associated(ledger, token, account_id)
    refuse_if(is_frozen(token, relationship), "ACCOUNT_FROZEN_FOR_TOKEN")
    return relationship


def usable_relationship(ledger: Overlay, token: Token, account_id: int) -> Relationship:
    """Return a relationship through which the token can move.

    Checks, in this order: the account is associated, not frozen, and has KYC. Errors: Refused.
    """
    relationship = unfrozen_relationship(ledger, token, account_id)
    refuse_if(not has_kyc(token, relationship), "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")
    return relationship


def is_frozen(token: Token, relationship: Relationship) -> bool:
    status = relationship.freeze_status
    return (token.freeze_status if status is None else status) == FROZEN


def has_kyc(token: Token, relationship: Relationship) -> bool:
    """Return whether KYC is granted, or the token needs none."""
    status = relationship.kyc_status
    return (token.kyc_status if status is None else status) != KYC_REVOKED


def new_relationship(token: Token, account_id: int, *, automatic: bool = False) -> Relationship:
    """Return the relationship that begins when an account is associated."""
    return Relationship(account_id, token.id, 0, token.freeze_status, token.kyc_status, automatic)


def first_relationship(token: Token, account_id: int, held: int = 0) -> Relationship:
    """Return the relationship of a treasury or a collector of fees: neither frozen nor without KYC."""
    freeze, kyc = UNFROZEN if token.freeze_key else 0, KYC_GRANTED if token.kyc_key else 0
    return Relationship(account_id, token.id, held, freeze, kyc)


def add_relationship(ledger: Overlay, relationship: Relationship) -> None:
    """Associate; the caller has made sure that the account may be, and is not yet."""
    ledger.put_relationship(relationship)
    ledger.count_associations(relationship.account_id, all=1, automatic=int(relationship.automatic))


# AMOUNTS


def owner_of(token: Token, nft: Nft) -> int:
    """The account that owns a serial."""
    return nft.account_id or token.treasury_account_id


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
