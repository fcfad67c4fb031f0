"""Account aliases: their base32 text (RFC 4648, upper case, no padding) and the EVM address they stand for.

An alias is a 20-byte EVM address or a serialized `Key` with a single primitive key.
"""

import re
from base64 import b32decode, b32encode
from typing import overload

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mirror.core.values.hapi.messages import DecodeError, Key
from mirror.core.values.hashes import keccak256

EVM_ADDRESS_LENGTH = 20

_BASE32 = re.compile(r"[A-Z2-7]+")
_IMPOSSIBLE_REMAINDERS = (1, 3, 6)  # of the length modulo 8: no number of whole bytes gives them


class InvalidAlias(ValueError):
    """The text is not the base32 of an alias; the message says why."""


@overload
def text(alias: None) -> None: ...
@overload
def text(alias: bytes) -> str: ...
@overload
def text(alias: bytes | None) -> str | None: ...
def text(alias: bytes | None) -> str | None:
    """Return upper-case base32 without padding; None for None."""
    return None if alias is None else b32encode(alias).decode("ascii").rstrip("=")


def parse(text: str) -> bytes:
    """Return the bytes of strict base32: upper case, no padding, unused bits zero. Errors: InvalidAlias."""
    if not _BASE32.fullmatch(text):
        raise InvalidAlias(f'"{text}" is not base32: the letters A-Z and digits 2-7, without padding')
    if len(text) % 8 in _IMPOSSIBLE_REMAINDERS:
        raise InvalidAlias(f'"{text}" is not base32: {len(text)} characters make no number of whole bytes')
    alias = b32decode(text + "=" * (-len(text) % 8))
    if b32encode(alias).decode("ascii").rstrip("=") != text:
        raise InvalidAlias(f'"{text}" is not base32: its unused last bits are not zero')
    return alias


def evm_address(alias: bytes) -> bytes | None:
    """Return the EVM address of an alias: its own 20 bytes, or that of its ECDSA secp256k1 key, else None."""
    if len(alias) == EVM_ADDRESS_LENGTH:
        return alias
    try:
        key = Key.FromString(alias)
    except DecodeError:
        return None
    return evm_address_of_key(key.ECDSA_secp256k1) if key.WhichOneof("key") == "ECDSA_secp256k1" else None


def evm_address_of_key(compressed: bytes) -> bytes | None:
    """Return the EVM address of a compressed secp256k1 key; None for other bytes.

    It is the last 20 bytes of the keccak-256 of the 64-byte point.
    """
    if len(compressed) != 33:
        return None
    try:
        point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), compressed)
    except ValueError:
        return None
    uncompressed = point.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return keccak256(uncompressed[1:])[-EVM_ADDRESS_LENGTH:]
