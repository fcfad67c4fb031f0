"""Signatures of messages by keys, as the network verifies them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bitcurve import PublicKey

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import ContractID, DecodeError, Key, SignatureMap
from web3sim.state.tables.rows import Entity

SIGNATURE_LENGTH = 64

#: By kind and prefix of the key: a map may have a million of them, and a key many members.
Signatures = Mapping[tuple[str, bytes], bytes]


def parse_key(serialized: bytes | None) -> Any:
    """Return a stored key as a message; None if it is missing, can't be read or names no kind of key."""
    try:
        key: Any = Key.FromString(serialized or b"")
    except DecodeError:
        return None
    return key if key.WhichOneof("key") else None


def message_id(message: Any, field: str, encoded: int) -> Any:
    """Return an id as a message of this type, whose number is in this field."""
    shard, realm, num = entity_id.decode(encoded)
    return message(shardNum=shard, realmNum=realm, **{field: num})


def contract_key(contract_id: int, *, delegated: bool) -> Any:
    """Return the key by which a contract signs, which may be delegated where the call was."""
    contract = message_id(ContractID, "contractNum", contract_id)
    return Key(delegatable_contract_id=contract) if delegated else Key(contractID=contract)


def signing_key(entity: Entity) -> Any:
    """Return the key of an account as a message; a contract without a usable one signs by its id."""
    key = usable_key(entity)
    if key is None and entity.type == "CONTRACT":
        key = contract_key(entity.id, delegated=False)
    return key


def usable_key(entity: Entity) -> Any:
    """Return the key of an account as a message; None if it is missing, unreadable or empty."""
    key = parse_key(entity.key)
    if key is None or key.WhichOneof("key") not in ("keyList", "thresholdKey"):
        return key
    return key if key_members(key) else None


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
    """Yield the public keys in a Key message: itself, or those in its lists."""
    for member in key_members(key):
        yield from simple_keys(member)
    if key.WhichOneof("key") in ("ed25519", "ECDSA_secp256k1"):
        yield key


def key_members(key: Any) -> Sequence[Any]:
    """Return the keys of a key list or threshold key; none of another one."""
    members: Sequence[Any] = (key.keyList if key.HasField("keyList") else key.thresholdKey.keys).keys
    return members


def signature_pairs(serialized: bytes) -> Any:
    """Return the pairs of a serialized SignatureMap; None if it is none, or has unknown fields."""
    try:
        message: Any = SignatureMap.FromString(serialized)
    except DecodeError:
        return None
    size = message.ByteSize()
    message.DiscardUnknownFields()
    return message.sigPair if message.ByteSize() == size else None


def signatures_of(pairs: Iterable[Any]) -> Signatures:
    """Return the signatures in SignaturePair messages; the first counts where a prefix is there twice."""
    signatures: dict[tuple[str, bytes], bytes] = {}
    for pair in pairs:
        field = pair.WhichOneof("signature")
        if field is not None:
            signatures.setdefault((field, pair.pubKeyPrefix), bytes(getattr(pair, field)))
    return signatures


def is_signed(key: Any, message: bytes, digest: bytes, signatures: Signatures) -> bool:
    """Return whether there are all signatures that a Key message requires, of a message or its Keccak hash.

    Ids of contracts sign nothing.
    """
    return is_satisfied(key, lambda simple: _is_verified(simple, message, digest, signatures))


def is_satisfied(key: Any, has_signed: Callable[[Any], bool]) -> bool:
    """Return whether enough of the keys in a Key message have signed."""
    field, members = key.WhichOneof("key"), key_members(key)
    if field == "keyList":
        return bool(members) and all(is_satisfied(member, has_signed) for member in members)
    if field == "thresholdKey":
        signed = sum(is_satisfied(member, has_signed) for member in members)
        return bool(signed >= max(key.thresholdKey.threshold, 1))
    return has_signed(key)


def verify(key_type: str | None, key: bytes, message: bytes, digest: bytes, signature: bytes) -> bool:
    """Return whether a signature of this kind is by a public key; ECDSA signs the digest."""
    if key_type == "ed25519":
        return is_signed_by_ed25519(key, message, signature)
    return key_type == "ECDSA_secp256k1" and is_signed_by_ecdsa(key, digest, signature)


def _is_verified(key: Any, message: bytes, digest: bytes, signatures: Signatures) -> bool:
    field = key.WhichOneof("key")
    if field not in ("ed25519", "ECDSA_secp256k1"):
        return False
    public = getattr(key, field)
    signature = _signature(public, signatures, field)
    return signature is not None and verify(field, public, message, digest, signature)


def _signature(key: bytes, signatures: Signatures, key_type: str) -> bytes | None:
    """The signature with the longest prefix of a key."""
    for length in range(len(key), -1, -1):
        signature = signatures.get((key_type, key[:length]))
        if signature is not None:
            return signature
    return None
