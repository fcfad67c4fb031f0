"""Whether a token can be used, and by whom: pausing, deleting, freezing, KYC, associations.

Every key counts as having signed; an operation needs a token that has the key. Checks are in the order of the
network; [T]: the token is not deleted, not paused.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from web3sim.engine.interface import ZERO_ADDRESS, Address
from web3sim.operations import holdings
from web3sim.operations.rejections import Rejected, reject_if, required
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import Relationship, Token

# TOKENS


def pause(ledger: Overlay, address: Address) -> None:
    """Checks, in this order: the token, its pause key; it is not deleted."""
    token = holdings.named_token(ledger, address)
    reject_if(not token.pause_key, "TOKEN_HAS_NO_PAUSE_KEY")
    holdings.check_not_deleted(ledger, token)
    ledger.put_token(replace(token, pause_status="PAUSED"))


def unpause(ledger: Overlay, address: Address) -> None:
    """Checks, in this order: the token; it is not deleted; its pause key."""
    token = holdings.named_token(ledger, address)
    holdings.check_not_deleted(ledger, token)
    reject_if(not token.pause_key, "TOKEN_HAS_NO_PAUSE_KEY")
    ledger.put_token(replace(token, pause_status="UNPAUSED"))


def delete(ledger: Overlay, address: Address) -> None:
    """Checks, in this order: the token, [T], its admin key."""
    token = holdings.usable_token_at(ledger, address)
    reject_if(not token.admin_key, "TOKEN_IS_IMMUTABLE")
    ledger.delete_token(token)


# FREEZING AND KYC


def _set_freeze(ledger: Overlay, address: Address, account: Address, *, unfreezes: bool) -> None:
    """Checks, in this order: the token, its key, [T], the account, its relationship."""
    token = holdings.named_token(ledger, address)
    reject_if(not token.freeze_key, "TOKEN_HAS_NO_FREEZE_KEY")
    holdings.check_usable(ledger, token)
    relationship_of = holdings.associated if unfreezes else holdings.unfrozen_relationship
    relationship = relationship_of(ledger, token, holdings.existing_account(ledger, account).id)
    ledger.put_relationship(
        replace(relationship, freeze_status=holdings.UNFROZEN if unfreezes else holdings.FROZEN)
    )


def _set_kyc(ledger: Overlay, address: Address, account: Address, *, status: int) -> None:
    """Checks, in this order: the token, its key, the account, [T], its unfrozen relationship."""
    token = holdings.named_token(ledger, address)
    reject_if(not token.kyc_key, "TOKEN_HAS_NO_KYC_KEY")
    account_id = holdings.existing_account(ledger, account).id
    holdings.check_usable(ledger, token)
    relationship = holdings.unfrozen_relationship(ledger, token, account_id)
    ledger.put_relationship(replace(relationship, kyc_status=status))


freeze, unfreeze = partial(_set_freeze, unfreezes=False), partial(_set_freeze, unfreezes=True)
grant_kyc = partial(_set_kyc, status=holdings.KYC_GRANTED)
revoke_kyc = partial(_set_kyc, status=holdings.KYC_REVOKED)


# ASSOCIATIONS, of an account that the payer is, or that has a key


def associate(ledger: Overlay, address: Address, tokens: Sequence[Address], payer: int | None) -> None:
    """Associate an account with tokens, whose number is not limited.

    Checks, in this order: the list, the account; each token by its number, [T]; none is associated yet.
    """
    account_id = _account(ledger, address, tokens, payer)
    usable = [holdings.usable_token_at(ledger, each) for each in sorted(map(holdings.token_address, tokens))]
    for token in usable:
        reject_if(ledger.relationship(token, account_id) is not None, "TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT")
    for token in usable:
        holdings.add_relationship(ledger, holdings.new_relationship(token, account_id))


def dissociate(ledger: Overlay, address: Address, tokens: Sequence[Address], payer: int | None) -> None:
    """End the relationships of an account with tokens. What it has of a deleted token is lost.

    Checks, in this order: the list, the account; each token is associated, not paused; of each that is not
    deleted, the account is not its treasury, not frozen, and has nothing of it.
    """
    account_id = _account(ledger, address, tokens, payer)
    ending = [_relationship_to_end(ledger, each, account_id) for each in tokens]
    for token, relationship in ending:
        if ledger.token(token.id) is not None:
            _check_dissociable(token, relationship)
        ledger.remove_relationship(token.id, account_id)
        ledger.count_associations(account_id, all=-1, automatic=-int(relationship.automatic))


def _account(ledger: Overlay, address: Address, tokens: Sequence[Address], payer: int | None) -> int:
    ids = set(map(holdings.token_address, tokens))
    reject_if(ZERO_ADDRESS in ids, "INVALID_TOKEN_ID")
    reject_if(len(ids) < len(tokens), "TOKEN_ID_REPEATED_IN_TOKEN_LIST")
    account_id = holdings.existing_account(ledger, address).id
    holdings.require_signature(ledger, account_id, payer, "INVALID_ACCOUNT_ID")
    return account_id


def _relationship_to_end(ledger: Overlay, address: Address, account_id: int) -> tuple[Token, Relationship]:
    token_at, code = holdings.token_address(address), "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
    token = required(ledger.known_token_at(token_at) or ledger.token_deleted_before_at(token_at), code)
    relationship = holdings.associated(ledger, token, account_id)
    reject_if(token.pause_status == "PAUSED", "TOKEN_IS_PAUSED")
    return token, relationship


def _check_dissociable(token: Token, relationship: Relationship) -> None:
    reject_if(relationship.account_id == token.treasury_account_id, "ACCOUNT_IS_TREASURY")
    reject_if(holdings.is_frozen(token, relationship), "ACCOUNT_FROZEN_FOR_TOKEN")
    if relationship.balance > 0:
        raise Rejected(
            "ACCOUNT_STILL_OWNS_NFTS" if token.unique else "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES"
        )
