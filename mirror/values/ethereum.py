"""Raw Ethereum transactions: legacy, EIP-2930 (type 1) and EIP-1559 (type 2), in RLP.

`rlp` is imported where it is first used: it brings pydantic, 18 MB that web server processes can do without.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from mirror.values.hashes import keccak256

LEGACY, EIP_2930, EIP_1559 = 0, 1, 2
WEIBARS_PER_TINYBAR = 10_000_000_000

# The elements in their order on the wire.
_FIELDS = {
    LEGACY: ("nonce", "gas_price", "gas_limit", "to", "value", "call_data", "v", "r", "s"),
    EIP_2930: (
        *("chain_id", "nonce", "gas_price", "gas_limit", "to", "value", "call_data", "access_list"),
        *("recovery_id", "r", "s"),
    ),
    EIP_1559: (
        *("chain_id", "nonce", "max_priority_fee_per_gas", "max_fee_per_gas", "gas_limit", "to", "value"),
        *("call_data", "access_list", "recovery_id", "r", "s"),
    ),
}
_MINIMUM_LENGTH = 2
_EIP_155_V = 35  # from here on v = 35 + 2 * chain id + recovery id
_MAX_LONG_BYTES = 8


class InvalidEthereumData(ValueError):
    """The bytes are not an Ethereum transaction of a known type; the message says why."""


class Element(NamedTuple):
    """A byte string or a list in RLP; `payload` is without the header."""

    is_list: bool
    payload: bytes


@dataclass(slots=True, kw_only=True)
class EthereumData:
    """A decoded transaction: the bytes of its elements, None where its type has no such element.

    Prices are weibars as unsigned bytes. `access_list` is the list's RLP payload. `hash` is the 32 bytes its
    sender knows it by, b"" while it is not known.
    """

    type: int
    chain_id: bytes | None
    nonce: int
    gas_price: bytes | None
    max_priority_fee_per_gas: bytes | None
    max_fee_per_gas: bytes | None
    gas_limit: int
    to_address: bytes
    value: int
    call_data: bytes
    access_list: bytes | None
    recovery_id: int
    signature_v: bytes | None
    signature_r: bytes
    signature_s: bytes
    hash: bytes = b""

    _raw: bytes
    _elements: list[Element]

    def computed_hash(self, call_data: bytes | None = None) -> bytes:
        """Return the keccak-256 of the transaction, with `call_data` in place of its own if given.

        The call data of a transaction with an access list can't be replaced: its hash is b"".
        """
        if call_data is None:
            return keccak256(self._raw)
        if self.access_list:
            return b""
        from rlp import codec

        elements: list[Any] = [[] if element.is_list else element.payload for element in self._elements]
        elements[_FIELDS[self.type].index("call_data")] = call_data
        encoded: bytes = codec.encode_raw(elements)
        return keccak256(encoded if self.type == LEGACY else bytes((self.type,)) + encoded)


def decode(data: bytes) -> EthereumData:
    """Return the transaction in `data`, without its hash. Errors: InvalidEthereumData."""
    kind, elements = _split(data)
    return _decode(data, kind, elements)


def tinybars(weibars: int) -> bytes:
    """Return the whole tinybars in an amount of weibars, in the database's form (`signed_bytes`)."""
    return signed_bytes(weibars // WEIBARS_PER_TINYBAR)


def signed_bytes(number: int) -> bytes:
    """Return the shortest big-endian two's complement of a number >= 0; 0 is one zero byte."""
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def _split(data: bytes) -> tuple[int, list[Element]]:
    """Return the type and the elements of the one list."""
    if len(data) < _MINIMUM_LENGTH:
        raise InvalidEthereumData(f"it has {len(data)} bytes, at least {_MINIMUM_LENGTH} are needed")
    outer = _elements(data)
    kind = LEGACY
    if not outer[0].is_list:
        kind = int.from_bytes(outer[0].payload, "big")
        if kind not in (EIP_2930, EIP_1559):
            raise InvalidEthereumData(f"its type {outer[0].payload[:8].hex()} is none of 1 and 2")
        outer = outer[1:]
    if len(outer) != 1 or not outer[0].is_list:
        raise InvalidEthereumData("it is not one list of elements")
    elements = _elements(outer[0].payload)
    fields = _FIELDS[kind]
    if len(elements) != len(fields):
        raise InvalidEthereumData(f"it has {len(elements)} elements, type {kind} has {len(fields)}")
    for field, element in zip(fields, elements, strict=True):
        if element.is_list != (field == "access_list"):
            raise InvalidEthereumData(f"its {field} is {'a list' if element.is_list else 'not a list'}")
    return kind, elements


def _elements(data: bytes) -> list[Element]:
    """Return the elements that follow each other in `data`: those of a list's payload.

    Lists in it are not taken apart, so that deep nesting can't exhaust the stack.
    """
    from rlp import codec

    elements: list[Element] = []
    position = 0
    try:
        while position < len(data):
            _, kind, length, start = codec.consume_length_prefix(data, position)
            position = start + length
            elements.append(Element(kind is list, data[start:position]))
    except codec.DecodingError as error:
        raise InvalidEthereumData(f"it is not strict RLP: {error}") from error
    except IndexError:
        raise InvalidEthereumData("it is not strict RLP: it ends within a header") from None
    if position > len(data):
        raise InvalidEthereumData(f"it is not strict RLP: {position - len(data)} bytes are missing")
    return elements


def _decode(data: bytes, kind: int, elements: list[Element]) -> EthereumData:
    fields = dict(zip(_FIELDS[kind], (element.payload for element in elements), strict=True))
    chain_id = fields.get("chain_id")
    if kind == LEGACY:
        v = _number("v", fields["v"])
        recovery_id = 0 if v % 2 else 1
        if v >= _EIP_155_V:
            chain_id = signed_bytes((v - _EIP_155_V) // 2)
    else:
        recovery_id = _number("recovery_id", fields["recovery_id"], 1)
    return EthereumData(
        type=kind,
        chain_id=chain_id,
        nonce=_long("nonce", fields["nonce"]),
        gas_price=fields.get("gas_price"),
        max_priority_fee_per_gas=fields.get("max_priority_fee_per_gas"),
        max_fee_per_gas=fields.get("max_fee_per_gas"),
        gas_limit=_long("gas_limit", fields["gas_limit"]),
        to_address=fields["to"],
        value=_number("value", fields["value"]),
        call_data=fields["call_data"],
        access_list=fields.get("access_list"),
        recovery_id=recovery_id,
        signature_v=fields.get("v"),
        signature_r=fields["r"],
        signature_s=fields["s"],
        _raw=data,
        _elements=elements,
    )


def created_address(creator: bytes, nonce: int) -> bytes:
    """Return the 20-byte address of the contract that `creator` creates with `nonce`."""
    from rlp import codec

    digits = nonce.to_bytes((nonce.bit_length() + 7) // 8, "big")
    return keccak256(codec.encode_raw([creator, digits]))[12:]


def _number(field: str, payload: bytes, length: int | None = None) -> int:
    if payload.startswith(b"\0") or (length is not None and len(payload) > length):
        raise InvalidEthereumData(f"its {field} {payload[:32].hex()} is no number, or too large a one")
    return int.from_bytes(payload, "big")


def _long(field: str, payload: bytes) -> int:
    """Return the signed number that has the bits of an unsigned one of up to 64 bits."""
    _number(field, payload, _MAX_LONG_BYTES)
    return int.from_bytes(payload.rjust(_MAX_LONG_BYTES, b"\0"), "big", signed=True)
