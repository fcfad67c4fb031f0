"""Tokens as operations name them, by an address: whether one is there, can be used, and has a key."""

from mirror.core.values.hapi.messages import DecodeError, Key
from web3sim.engine.interface import Address
from web3sim.operations.refusals import Refused, refuse_if, required
from web3sim.operations.signers import Signers
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Token


def named_token(ledger: Overlay, address: Address) -> Token:
    """Return the token at an address, even if paused or deleted by the call itself. Errors: Refused."""
    return required(ledger.token_at(address) or ledger.token_deleted_at(address), "INVALID_TOKEN_ID")


def check_not_deleted(ledger: Overlay, token: Token) -> None:
    """Errors: Refused."""
    if ledger.token(token.id) is None:
        raise Refused("TOKEN_WAS_DELETED")


def check_usable(ledger: Overlay, token: Token) -> None:
    """Checks, in this order: the token is not deleted, not paused. Errors: Refused."""
    check_not_deleted(ledger, token)
    refuse_if(token.pause_status == "PAUSED", "TOKEN_IS_PAUSED")


def has_key(key: bytes | None) -> bool:
    """Return whether a serialized key is one: an empty list of keys stands for a key that was removed."""
    if not key:
        return False
    try:
        message = Key.FromString(key)
    except DecodeError:
        return True
    kind = message.WhichOneof("key")
    return kind is not None and (kind != "keyList" or bool(message.keyList.keys))


def check_signed(signers: Signers, key: bytes | None) -> None:
    """Errors: Refused, unless the key has signed or there is none."""
    refuse_if(has_key(key) and not signers.is_active(key), "INVALID_SIGNATURE")


def check_key(signers: Signers, key: bytes | None, code: str) -> None:
    """Checks, in this order: there is a key, else refused with `code`; it has signed. Errors: Refused."""
    refuse_if(not has_key(key), code)
    check_signed(signers, key)
