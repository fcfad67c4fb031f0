"""Keys: the JSON form of a serialized `Key`, and the single public key in it."""

from typing import Any, Literal

from mirror.core.values.hapi.messages import DecodeError, Key
from mirror.core.values.json_types import KeyJson

EMPTY_LIST = bytes.fromhex("3200")  # a Key with an empty key list
# The forms of one single key: bare, in a key list, in a 1-of-1 threshold key.
_ED25519 = tuple(bytes.fromhex(form) for form in ("1220", "32240a221220", "2a28080112240a221220"))
_ECDSA_SECP256K1 = tuple(bytes.fromhex(form) for form in ("3a21", "32250a233a21", "2a29080112250a233a21"))
_SINGLE: tuple[tuple[Literal["ED25519", "ECDSA_SECP256K1"], int, tuple[bytes, ...]], ...] = (
    ("ED25519", 32, _ED25519),
    ("ECDSA_SECP256K1", 33, _ECDSA_SECP256K1),
)
# The same by the length of the whole key: a page has a key in each row.
_SINGLE_BY_LENGTH = {
    len(form) + length: (name, form, length) for name, length, forms in _SINGLE for form in forms
}
_PRIMITIVES = ("ed25519", "ECDSA_secp256k1", "ECDSA_384", "RSA_3072")


def key_json(key: bytes | None) -> KeyJson | None:
    """Return the JSON of a serialized `Key`; None for None and for the empty key list."""
    if key is None or key == EMPTY_LIST:
        return None
    if single := _SINGLE_BY_LENGTH.get(len(key)):
        name, form, length = single
        if key.startswith(form):
            return {"_type": name, "key": key[-length:].hex()}
    return {"_type": "ProtobufEncoded", "key": key.hex()}


def public_key(key: bytes | None) -> str | None:
    """Return the lower-case hex of the raw key in `key` (entity.public_key), if it is a single one.

    That is a primitive key, or a key list or threshold key of exactly one primitive key. Everything else
    gives None: several or nested keys, contract keys, no key, bytes that are not a Key.
    """
    if not key:
        return None
    try:
        message = Key.FromString(key)
    except DecodeError:
        return None
    kind = message.WhichOneof("key")
    if kind in ("keyList", "thresholdKey"):
        members = (message.keyList if kind == "keyList" else message.thresholdKey.keys).keys
        return _primitive(members[0]) if len(members) == 1 else None
    return _primitive(message)


def _primitive(message: Any) -> str | None:
    kind = message.WhichOneof("key")
    if kind not in _PRIMITIVES:
        return None
    raw: bytes = getattr(message, kind)
    return raw.hex() or None
