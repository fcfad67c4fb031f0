"""Tokens, and what accounts hold of them: relationships, units, serials; and hbar.

Amounts are in a token's smallest unit, those of hbar in tinybars. The functions change the overlay; those
that look first raise Rejected.
"""

from dataclasses import replace

from mirror.core.values import entity_id
from web3sim.engine.interface import Address
from web3sim.operations.rejections import Rejected, Rejection, reject_if, required
from web3sim.operations.signatures import usable_key
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import Entity, Nft, Relationship, Token

UNFROZEN, KYC_GRANTED = 2, 1
FROZEN, KYC_REVOKED = 1, 2
# The number of the account that fees go to.
_FEE_COLLECTOR_NUM = 98
#: Spenders that an account may grant something: hbar, units, or all serials of a token.
MAX_ALLOWANCES = 100
#: The numbers of the accounts that pay rewards; they have no keys.
REWARD_ACCOUNTS = (800, 801)
#: For an account that takes all tokens by itself.
UNLIMITED = -1


# TOKENS AND ACCOUNTS


def token_address(address: Address) -> Address:
    """Return the address of the token that an operation takes: only the number in its last 8 bytes counts."""
    return entity_id.LONG_ZERO_PREFIX + address[len(entity_id.LONG_ZERO_PREFIX) :]


def named_token(ledger: Overlay, address: Address) -> Token:
    """Return the token of an operation, even if paused or deleted by the call itself."""
    return required(ledger.known_token_at(token_address(address)), "INVALID_TOKEN_ID")


def check_not_deleted(ledger: Overlay, token: Token) -> None:
    reject_if(ledger.token(token.id) is None, "TOKEN_WAS_DELETED")


def check_usable(ledger: Overlay, token: Token) -> Token:
    """Checks, in this order: the token is not deleted, not paused."""
    check_not_deleted(ledger, token)
    reject_if(token.pause_status == "PAUSED", "TOKEN_IS_PAUSED")
    return token


def usable_token(ledger: Overlay, token_id: int) -> Token:
    """Return a token that the call has not deleted and that is not paused."""
    return check_usable(ledger, required(ledger.known_token(token_id), "INVALID_TOKEN_ID"))


def usable_token_at(ledger: Overlay, address: Address) -> Token:
    return check_usable(ledger, named_token(ledger, address))


def account_number(ledger: Overlay, address: Address) -> int | None:
    """Return the id by which an operation names an account, whether it is there or not.

    0 stands for the zero address, and for the long-zero one of an account with an address of its own; None
    for any other address without an account.
    """
    num = entity_id.num_of_long_zero(address)
    account = ledger.account_id_at(address)
    if account is not None or num is None:
        return account
    encoded = ledger.state.encoded(num) if num else 0
    entity = ledger.entity(encoded) if num else None
    return encoded if entity is None or entity.own_address is None else 0


def existing_account(ledger: Overlay, address: Address, code: str = "INVALID_ACCOUNT_ID") -> Entity:
    return required(ledger.account_at(address), code)


def check_signs(account: Entity, code: str = "INVALID_ACCOUNT_ID") -> None:
    """Errors: Rejected with `code` if the stored key can't sign; an account without one yet halts."""
    if account.key is not None and usable_key(account) is None:
        raise Rejected(code, None if account.own_address is None else Rejection.HALT)


def require_signature(ledger: Overlay, account_id: int, payer: int | None, code: str) -> None:
    """Refuse an account that is missing, pays rewards or can't sign; the payer has signed already.

    Errors: Rejected with `code`.
    """
    if account_id != payer:
        account = required(get_account(ledger, account_id), code)
        reject_if(entity_id.decode(account_id)[2] in REWARD_ACCOUNTS, code)
        check_signs(account, code)


def get_account(ledger: Overlay, account_id: int) -> Entity | None:
    """Return the account or contract of an id; None if it is not there."""
    entity = ledger.entity(account_id)
    return entity if entity is not None and entity.type in ("ACCOUNT", "CONTRACT") else None


# RELATIONSHIPS


def associated(
    ledger: Overlay, token: Token, account_id: int, code: str = "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
) -> Relationship:
    return required(ledger.relationship(token, account_id), code)


def unfrozen_relationship(ledger: Overlay, token: Token, account_id: int) -> Relationship:
    """Checks, in this order: the account is associated, not frozen."""
    relationship = associated(ledger, token, account_id)
    reject_if(is_frozen(token, relationship), "ACCOUNT_FROZEN_FOR_TOKEN")
    return relationship


def usable_relationship(ledger: Overlay, token: Token, account_id: int) -> Relationship:
    """Return a relationship through which the token can move.

    Checks, in this order: the account is associated, not frozen, and has KYC.
    """
    relationship = unfrozen_relationship(ledger, token, account_id)
    reject_if(not has_kyc(token, relationship), "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")
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


def first_relationship(token: Token, account_id: int, balance: int = 0) -> Relationship:
    """Return the relationship of a treasury or a collector of fees: neither frozen nor without KYC."""
    freeze, kyc = UNFROZEN if token.freeze_key else 0, KYC_GRANTED if token.kyc_key else 0
    return Relationship(account_id, token.id, balance, freeze, kyc)


def add_relationship(ledger: Overlay, relationship: Relationship) -> None:
    """Associate; the caller has made sure that the account may be, and is not yet."""
    ledger.put_relationship(relationship)
    ledger.count_associations(relationship.account_id, all=1, automatic=int(relationship.automatic))


def has_no_free_slots(ledger: Overlay, account: Entity) -> bool:
    """Return whether an account takes no more tokens by itself."""
    limit = account.max_automatic_associations
    return limit != UNLIMITED and limit <= ledger.associations(account.id).automatic


# AMOUNTS


def owner_of(token: Token, nft: Nft) -> int:
    """The account that owns a serial."""
    return nft.account_id or token.treasury_account_id


def adjust_balance(
    ledger: Overlay, token: Token, account_id: int, amount: int, code: str = "INSUFFICIENT_TOKEN_BALANCE"
) -> None:
    """Change what an associated account has of a token, of a unique one the number of serials.

    Errors: Rejected with `code` if it has too little.
    """
    relationship = associated(ledger, token, account_id)
    reject_if(relationship.balance + amount < 0 and amount < 0, code)
    _change_balance(ledger, relationship, amount)


def _change_balance(ledger: Overlay, relationship: Relationship, amount: int) -> None:
    ledger.put_relationship(replace(relationship, balance=relationship.balance + amount))


def add_tinybars(
    ledger: Overlay, account_id: int, tinybars: int, code: str = "INSUFFICIENT_ACCOUNT_BALANCE"
) -> None:
    """Change the hbar of an account. Errors: Rejected with `code` if it has too little."""
    reject_if(tinybars < 0 and ledger.hbar_balance(account_id) + tinybars < 0, code)
    ledger.add_hbar(account_id, tinybars)


def pay_fee(ledger: Overlay, payer: int, tinybars: int) -> None:
    """Move a fee to its collector. Errors: Rejected, if the payer has too little."""
    if tinybars:
        add_tinybars(ledger, payer, -tinybars, "INSUFFICIENT_PAYER_BALANCE")
        collect_fee(ledger, tinybars)


def collect_fee(ledger: Overlay, tinybars: int) -> None:
    """Give a fee that has been paid to its collector."""
    ledger.add_hbar(ledger.state.encoded(_FEE_COLLECTOR_NUM), tinybars)


def check_allowances(ledger: Overlay, owner: int) -> None:
    """Errors: Rejected, if an owner has granted too much."""
    reject_if(ledger.allowances(owner) > MAX_ALLOWANCES, "MAX_ALLOWANCES_EXCEEDED")


def move_nft(ledger: Overlay, token: Token, serial_number: int, receiver: int) -> None:
    """Give a serial to another associated account; its approvals end."""
    nft = ledger.nft(token.id, serial_number)
    assert nft is not None
    sender = owner_of(token, nft)
    moved = replace(nft, account_id=receiver, spender=None, delegating_spender=None)
    ledger.put_nft(token.id, serial_number, moved)
    # What the sender has is counted by its serials: where history is incomplete it may be less than one.
    _change_balance(ledger, associated(ledger, token, sender), -1)
    _change_balance(ledger, associated(ledger, token, receiver), 1)
