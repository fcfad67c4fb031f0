"""The values of the API as clients know them: ids, times, bytes and keys."""

import base64

from mirror.core.values.hapi.messages import Key

NANOS_PER_SECOND = 1_000_000_000
NANOS_PER_DAY = 86_400 * NANOS_PER_SECOND
_EMPTY_KEY_LIST = b"\x32\x00"


def numbered(number: int) -> str:
    return f"0.0.{number}"


def entity(number: int | None) -> str | None:
    return numbered(number) if number else None


def at(nanoseconds: int | None) -> str | None:
    if nanoseconds is None:
        return None
    seconds, nanos = divmod(nanoseconds, NANOS_PER_SECOND)
    return f"{seconds}.{nanos:09}"


def since(nanoseconds: int | None) -> dict[str, str | None]:
    """Return the timestamp range of a state that holds since then."""
    return {"from": at(nanoseconds), "to": None}


def hexed(data: bytes | None) -> str | None:
    return None if data is None else f"0x{data.hex()}"


def address(number: int, evm_address: bytes | None = None) -> str:
    return f"0x{(evm_address or number.to_bytes(20, 'big')).hex()}"


def word(data: bytes) -> str:
    return f"0x{data.hex():0>64}"


def base_64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def base_32(data: bytes | None) -> str | None:
    return None if data is None else base64.b32encode(data).decode().rstrip("=")


def key(serialized: bytes | None) -> dict[str, str] | None:
    """Return the JSON of a serialized Key. A list or threshold of one simple key is shown as that key."""
    if serialized is None or serialized == _EMPTY_KEY_LIST:
        return None
    plain = Key.FromString(serialized)
    if plain.HasField("thresholdKey") and plain.thresholdKey.threshold == 1:
        plain = _only(plain.thresholdKey.keys, plain)
    elif plain.HasField("keyList"):
        plain = _only(plain.keyList, plain)
    match plain.WhichOneof("key"):
        case "ed25519":
            return {"_type": "ED25519", "key": plain.ed25519.hex()}
        case "ECDSA_secp256k1":
            return {"_type": "ECDSA_SECP256K1", "key": plain.ECDSA_secp256k1.hex()}
    return {"_type": "ProtobufEncoded", "key": serialized.hex()}


def _only(listed: Key, whole: Key) -> Key:
    return listed.keys[0] if len(listed.keys) == 1 else whole
