"""TokenAssociate, TokenDissociate: relationships of an account with tokens."""

from collections.abc import Sequence

from web3sim.engine.interface import Address
from web3sim.operations.holdings import is_frozen
from web3sim.operations.refusals import Refused, refuse_if, required
from web3sim.operations.signers import Signers
from web3sim.operations.token_lookup import check_usable, named_token
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Relationship, Token

_NO_TOKEN = bytes(20)


def associate(ledger: Overlay, signers: Signers, address: Address, tokens: Sequence[Address]) -> None:
    """Associate the account at an address with the tokens at some addresses.

    Checks, in this order: no token twice, the account, its signature; each token is usable; each is not
    associated yet. The number of tokens of an account is not limited by default. Errors: Refused.
    """
    account_id = _account(ledger, signers, address, tokens)
    usable = []
    for token_address in sorted(tokens):
        token = named_token(ledger, token_address)
        check_usable(ledger, token)
        usable.append(token)
    for token in usable:
        refuse_if(ledger.relationship(token, account_id) is not None, "TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT")
    for token in usable:
        add_relationship(ledger, new_relationship(token, account_id))


def new_relationship(token: Token, account_id: int, *, automatic: bool = False) -> Relationship:
    """Return the relationship that begins when an account is associated."""
    return Relationship(account_id, token.id, 0, token.freeze_status, token.kyc_status, automatic)


def add_relationship(ledger: Overlay, relationship: Relationship) -> None:
    """Associate; the caller has made sure that the account may be, and is not yet."""
    ledger.put_relationship(relationship)
    ledger.count_associations(relationship.account_id, all=1, automatic=int(relationship.automatic))


def dissociate(ledger: Overlay, signers: Signers, address: Address, tokens: Sequence[Address]) -> None:
    """End the relationships of the account at an address with the tokens at some addresses.

    What the account has of a deleted token is lost. Checks, in this order: no token twice, the account, its
    signature; each token is associated and not paused; of each that is not deleted, the account is not its
    treasury, is not frozen, and has nothing of it. Errors: Refused.
    """
    account_id = _account(ledger, signers, address, tokens)
    ending = [_relationship(ledger, token_address, account_id) for token_address in tokens]
    for token, relationship in ending:
        if ledger.token(token.id) is not None:
            _check_may_end(token, relationship)
        _remove_relationship(ledger, relationship)


def _account(ledger: Overlay, signers: Signers, address: Address, tokens: Sequence[Address]) -> int:
    refuse_if(_NO_TOKEN in tokens, "INVALID_TOKEN_ID")
    refuse_if(len(set(tokens)) < len(tokens), "TOKEN_ID_REPEATED_IN_TOKEN_LIST")
    account = required(ledger.account_at(address), "INVALID_ACCOUNT_ID")
    refuse_if(not signers.has_signed(account), "INVALID_SIGNATURE")
    return account.id


def _relationship(ledger: Overlay, address: Address, account_id: int) -> tuple[Token, Relationship]:
    token = (
        ledger.token_at(address)
        or ledger.token_deleted_at(address)
        or ledger.token_deleted_before_at(address)
    )
    relationship = None if token is None else ledger.relationship(token, account_id)
    if token is None or relationship is None:
        raise Refused("TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
    refuse_if(token.pause_status == "PAUSED", "TOKEN_IS_PAUSED")
    return token, relationship


def _check_may_end(token: Token, relationship: Relationship) -> None:
    refuse_if(relationship.account_id == token.treasury_account_id, "ACCOUNT_IS_TREASURY")
    refuse_if(is_frozen(token, relationship), "ACCOUNT_FROZEN_FOR_TOKEN")
    if relationship.balance > 0:
        raise Refused(
            "ACCOUNT_STILL_OWNS_NFTS" if token.unique else "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES"
        )


def _remove_relationship(ledger: Overlay, relationship: Relationship) -> None:
    ledger.remove_relationship(relationship.token_id, relationship.account_id)
    ledger.count_associations(relationship.account_id, all=-1, automatic=-int(relationship.automatic))
