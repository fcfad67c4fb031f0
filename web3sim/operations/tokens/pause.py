"""TokenPause, TokenUnpause, TokenDelete: whether a token can be used at all."""

from dataclasses import replace

from web3sim.engine.interface import Address
from web3sim.operations.refusals import refuse_if
from web3sim.operations.signers import Signers
from web3sim.operations.token_lookup import (
    check_not_deleted,
    check_signed,
    check_usable,
    has_key,
    named_token,
)
from web3sim.state.overlay import Overlay


def pause(ledger: Overlay, signers: Signers, address: Address) -> None:
    """Checks, in this order: the token, the signature, its pause key; it is not deleted. Errors: Refused.

    A token that is paused already may be paused.
    """
    token = named_token(ledger, address)
    check_signed(signers, token.pause_key)
    _check_pause_key(token.pause_key)
    check_not_deleted(ledger, token)
    ledger.put_token(replace(token, pause_status="PAUSED"))


def unpause(ledger: Overlay, signers: Signers, address: Address) -> None:
    """Checks, in this order: the token, the signature; it is not deleted; its pause key. Errors: Refused."""
    token = named_token(ledger, address)
    check_signed(signers, token.pause_key)
    check_not_deleted(ledger, token)
    _check_pause_key(token.pause_key)
    ledger.put_token(replace(token, pause_status="UNPAUSED"))


def delete(ledger: Overlay, signers: Signers, address: Address) -> None:
    """Checks, in this order: the token, the signature; it is usable; it has an admin key. Errors: Refused."""
    token = named_token(ledger, address)
    check_signed(signers, token.admin_key)
    check_usable(ledger, token)
    refuse_if(not has_key(token.admin_key), "TOKEN_IS_IMMUTABLE")
    ledger.delete_token(token)


def _check_pause_key(key: bytes | None) -> None:
    refuse_if(not has_key(key), "TOKEN_HAS_NO_PAUSE_KEY")
