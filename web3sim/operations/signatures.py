"""Signatures of messages by keys, as the network verifies them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from coincurve import PublicKey

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import ContractID, DecodeError, Key

SIGNATURE_LENGTH = 64

#: By kind and prefix of the key: a map may have a million of them, and a key many members.
Signatures = Mapping[tuple[str, bytes], bytes]


def key_of(serialized: bytes | None) -> Any:
    """Return a stored key as a message; None if it is missing, can't be read or names no kind of key."""
    try:
        key: Any = Key.FromString(serialized or b"")
    except DecodeError:
        return None
    return key if key.WhichOneof("key") else None


def contract_key(contract_id: int, *, delegated: bool) -> bytes:
    """Return the serialized key by which a contract signs, which may be delegated where the call was."""
    shard, realm, num = entity_id.decode(contract_id)
    named: Any = ContractID(shardNum=shard, realmNum=realm, contractNum=num)
    key: Any = Key(delegatable_contract_id=named) if delegated else Key(contractID=named)
    return bytes(key.SerializeToString())


def is_signed_by_ed25519(key: bytes, message: bytes, signature: bytes) -> bool:
    # This takes six megabytes, and hardly any call needs it.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def is_signed_by_ecdsa(key: bytes, digest: bytes, signature: bytes) -> bool:
    """Return whether a compressed key of secp256k1 has signed a hash.

    What follows r and s, such as a recovery id, does not count.
    """
    rs = signature[:SIGNATURE_LENGTH]
    if len(rs) < SIGNATURE_LENGTH:
        return False
    for recovery_id in (0, 1):
        try:
            recovered = PublicKey.from_signature_and_message(rs + bytes([recovery_id]), digest, hasher=None)
        except ValueError:
            continue
        if recovered.format() == key:
            return True
    return False


def simple_keys(key: Any) -> Iterator[Any]:
    """Yield the keys of people in a Key message: itself, or those in its lists."""
    kind = key.WhichOneof("key")
    if kind in ("keyList", "thresholdKey"):
        members = (key.keyList if kind == "keyList" else key.thresholdKey.keys).keys
        for member in members:
            yield from simple_keys(member)
    elif kind in ("ed25519", "ECDSA_secp256k1"):
        yield key


def signatures_of(pairs: Iterable[Any]) -> Signatures:
    """Return the signatures in SignaturePair messages; the first counts where a prefix is there twice."""
    signatures: dict[tuple[str, bytes], bytes] = {}
    for pair in pairs:
        kind = pair.WhichOneof("signature")
        if kind is not None:
            signatures.setdefault((kind, pair.pubKeyPrefix), bytes(getattr(pair, kind)))
    return signatures


def is_signed(key: Any, message: bytes, digest: bytes, signatures: Signatures) -> bool:
    """Return whether there are all signatures that a Key message requires, of a message or its Keccak hash.

    Ids of contracts sign nothing.
    """
    return satisfied(key, lambda simple: _is_verified(simple, message, digest, signatures))


def satisfied(key: Any, has_signed: Callable[[Any], bool]) -> bool:
    """Return whether enough of the keys in a Key message have signed."""
    kind = key.WhichOneof("key")
    if kind == "keyList":
        members = key.keyList.keys
        return bool(members) and all(satisfied(member, has_signed) for member in members)
    if kind == "thresholdKey":
        signed = sum(satisfied(member, has_signed) for member in key.thresholdKey.keys.keys)
        return bool(signed >= max(key.thresholdKey.threshold, 1))
    return has_signed(key)


def _is_verified(key: Any, message: bytes, digest: bytes, signatures: Signatures) -> bool:
    kind = key.WhichOneof("key")
    if kind == "ed25519":
        signature = _signature(key.ed25519, signatures, "ed25519")
        return signature is not None and is_signed_by_ed25519(key.ed25519, message, signature)
    if kind == "ECDSA_secp256k1":
        signature = _signature(key.ECDSA_secp256k1, signatures, "ECDSA_secp256k1")
        return signature is not None and is_signed_by_ecdsa(key.ECDSA_secp256k1, digest, signature)
    return False


def _signature(key: bytes, signatures: Signatures, kind: str) -> bytes | None:
    """The signature with the longest prefix of a key."""
    for length in range(len(key), -1, -1):
        signature = signatures.get((kind, key[:length]))
        if signature is not None:
            return signature
    return None
