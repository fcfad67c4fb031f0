"""Whether an account has signed a message (HIP-632), by its only key or by a map of signatures."""

from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import DecodeError, Key, SignatureMap
from web3sim.engine.precompiles import ecrecover
from web3sim.operations.refusals import Refused
from web3sim.operations.signatures import (
    SIGNATURE_LENGTH,
    is_signed,
    is_signed_by_ed25519,
    signatures_of,
    simple_keys,
)
from web3sim.state.tables.interface import Entity
from web3sim.system_contracts.abi import WORD, word_of
from web3sim.system_contracts.functions import SUCCESS, Function, Invocation

#: Of one signature.
_VERIFICATION_GAS = 3_000
_MOST_ECDSA_LENGTH = SIGNATURE_LENGTH + 8
_DIGEST_LENGTH = 32
# A recovery id is 27 and the parity of a point, also written as the parity alone; with a chain id (EIP-155)
# it is 35, twice the chain id and the parity.
_FIRST_RECOVERY_ID, _FIRST_OF_CHAINS = 27, 35


def _gas(invocation: Invocation) -> int:
    return _VERIFICATION_GAS


# ONE SIGNATURE


def _is_authorized_raw(invocation: Invocation) -> bytes:
    """The length of the signature decides: ED25519 without a recovery id, else ECDSA of a hash."""
    address, message, signature = invocation.decoded()
    if len(signature) == SIGNATURE_LENGTH:
        signed = is_signed_by_ed25519(_ed25519_key(invocation.account(address)), message, signature)
    elif SIGNATURE_LENGTH < len(signature) <= _MOST_ECDSA_LENGTH and len(message) == _DIGEST_LENGTH:
        if entity_id.num_of_long_zero(address) is not None:
            # Only an address of its own follows from a key.
            raise Refused("INVALID_ACCOUNT_ID")
        invocation.account(address)
        signed = _recovered(message, signature) == address
    else:
        raise Refused("INVALID_TRANSACTION_BODY")
    return SUCCESS + word_of(signed)


def _ed25519_key(account: Entity) -> bytes:
    """Errors: Refused."""
    key = _key(account)
    kind = None if key is None else key.WhichOneof("key")
    if key is None or kind in (None, "keyList", "thresholdKey"):
        raise Refused("INVALID_TRANSACTION_BODY")
    if kind != "ed25519":
        raise Refused("INVALID_SIGNATURE_TYPE_MISMATCHING_KEY")
    return bytes(key.ed25519)


def _recovered(digest: bytes, signature: bytes) -> bytes | None:
    """Return the address whose key has signed a hash."""
    v = int.from_bytes(signature[SIGNATURE_LENGTH:])
    if v >= _FIRST_OF_CHAINS:
        v = (v - _FIRST_OF_CHAINS) % 2
    if v in (0, 1):
        v += _FIRST_RECOVERY_ID
    signer = ecrecover(digest + word_of(v) + signature[:SIGNATURE_LENGTH])
    return signer[WORD - 20 :] or None


# A MAP OF SIGNATURES


def _is_authorized(invocation: Invocation) -> bytes:
    address, message, signatures = invocation.decoded()
    account = invocation.account(address)
    key = _key(account)
    if key is None:
        raise Refused("INVALID_TRANSACTION_BODY")
    try:
        pairs = signatures_of(SignatureMap.FromString(signatures).sigPair)
    except DecodeError:
        raise Refused("INVALID_TRANSACTION_BODY") from None
    invocation.more_gas = (sum(1 for _ in simple_keys(key)) - 1) * _VERIFICATION_GAS
    return SUCCESS + word_of(is_signed(key, message, pairs))


def _key(account: Entity) -> Any:
    """The key of an account as a message; None without one, such as of a hollow account."""
    if not account.key:
        return None
    try:
        return Key.FromString(account.key)
    except DecodeError:
        return None


FUNCTIONS = (
    Function(
        "isAuthorized(address,bytes,bytes)",
        _is_authorized,
        "(int64,bool)",
        gas=_gas,
        tells_code_when_static=True,
    ),
    Function(
        "isAuthorizedRaw(address,bytes,bytes)",
        _is_authorized_raw,
        "(int64,bool)",
        gas=_gas,
        tells_code=False,
    ),
)
