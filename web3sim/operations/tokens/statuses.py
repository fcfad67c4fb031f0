"""TokenFreeze, TokenUnfreeze, TokenGrantKyc, TokenRevokeKyc: the statuses of a relationship."""

from dataclasses import replace

from web3sim.engine.interface import Address
from web3sim.operations.holdings import FROZEN, KYC_REVOKED, associated, is_frozen
from web3sim.operations.refusals import refuse_if, required
from web3sim.operations.signers import Signers
from web3sim.operations.token_lookup import check_key, check_usable, named_token
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Relationship, Token

_UNFROZEN, _KYC_GRANTED = 2, 1


def freeze(ledger: Overlay, signers: Signers, token: Address, account: Address) -> None:
    """Checks: see `_freezable`; then that the account is not frozen yet. Errors: Refused."""
    relationship = _unfrozen(*_freezable(ledger, signers, token, account))
    ledger.put_relationship(replace(relationship, freeze_status=FROZEN))


def unfreeze(ledger: Overlay, signers: Signers, token: Address, account: Address) -> None:
    """Checks: see `_freezable`. An account that is not frozen may be unfrozen. Errors: Refused."""
    _, relationship = _freezable(ledger, signers, token, account)
    ledger.put_relationship(replace(relationship, freeze_status=_UNFROZEN))


def grant_kyc(ledger: Overlay, signers: Signers, token: Address, account: Address) -> None:
    """Checks: see `_with_kyc_key`. Errors: Refused."""
    relationship = _with_kyc_key(ledger, signers, token, account)
    ledger.put_relationship(replace(relationship, kyc_status=_KYC_GRANTED))


def revoke_kyc(ledger: Overlay, signers: Signers, token: Address, account: Address) -> None:
    """Checks: see `_with_kyc_key`. Errors: Refused."""
    relationship = _with_kyc_key(ledger, signers, token, account)
    ledger.put_relationship(replace(relationship, kyc_status=KYC_REVOKED))


def _freezable(
    ledger: Overlay, signers: Signers, token_address: Address, address: Address
) -> tuple[Token, Relationship]:
    """Checks, in this order: token, key, signature; the token is usable; account, association."""
    token = named_token(ledger, token_address)
    check_key(signers, token.freeze_key, "TOKEN_HAS_NO_FREEZE_KEY")
    check_usable(ledger, token)
    account = _account(ledger, address)
    return token, associated(ledger, token, account)


def _with_kyc_key(
    ledger: Overlay, signers: Signers, token_address: Address, address: Address
) -> Relationship:
    """Checks, in this order: token, key, signature, account; the token is usable; association, not frozen."""
    token = named_token(ledger, token_address)
    check_key(signers, token.kyc_key, "TOKEN_HAS_NO_KYC_KEY")
    account = _account(ledger, address)
    check_usable(ledger, token)
    return _unfrozen(token, associated(ledger, token, account))


def _account(ledger: Overlay, address: Address) -> int:
    return required(ledger.account_id_at(address), "INVALID_ACCOUNT_ID")


def _unfrozen(token: Token, relationship: Relationship) -> Relationship:
    refuse_if(is_frozen(token, relationship), "ACCOUNT_FROZEN_FOR_TOKEN")
    return relationship
