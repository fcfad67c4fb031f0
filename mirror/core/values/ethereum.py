"""Raw Ethereum transactions in RLP: legacy, EIP-2930 (type 1), EIP-1559 (type 2) and EIP-7702 (type 4).

`rlp` is imported where it is first used: it brings pydantic, 18 MB that web server processes can do without.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypedDict, TypeVar

from mirror.core.values.hashes import keccak256
from mirror.core.values.json_types import Hex, Quantity

T = TypeVar("T")

LEGACY, EIP_2930, EIP_1559, EIP_7702 = 0, 1, 2, 4
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
    EIP_7702: (
        *("chain_id", "nonce", "max_priority_fee_per_gas", "max_fee_per_gas", "gas_limit", "to", "value"),
        *("call_data", "access_list", "authorization_list", "recovery_id", "r", "s"),
    ),
}
# Selectors of Error(string) and Panic(uint256).
_ERROR, _PANIC = bytes.fromhex("08c379a0"), bytes.fromhex("4e487b71")
_LISTS = {"access_list", "authorization_list"}
_ACCESS_FIELDS = ("address", "storage_keys")
_AUTHORIZATION_FIELDS = ("chain_id", "address", "nonce", "y_parity", "r", "s")
_MINIMUM_LENGTH = 2
_EIP_155_V = 35  # from here on v = 35 + 2 * chain id + recovery id
_MAX_LONG_BYTES = 8
_LIST_OFFSET = 0xC0  # of the header of a list
_ADDRESS_DIGITS, _WORD_DIGITS = 40, 64


class InvalidEthereumData(ValueError):
    """The bytes are not an Ethereum transaction of a known type; the message says why."""


class Element(NamedTuple):
    """A byte string or a list in RLP; `payload` is without the header."""

    is_list: bool
    payload: bytes


class Access(TypedDict):
    """An account whose use a transaction announces, with the keys of its storage (EIP-2930)."""

    address: Hex
    storage_keys: list[Hex]


class Authorization(TypedDict):
    """The signed delegation of an account to the code at `address` (EIP-7702)."""

    address: Hex
    chain_id: Quantity
    nonce: int
    r: Hex
    s: Hex
    y_parity: Quantity


@dataclass(slots=True, kw_only=True)
class EthereumData:
    """A decoded transaction: the bytes of its elements, None where its type has no such element.

    Prices are weibars as unsigned bytes. `hash` is the 32 bytes its sender knows it by, b"" while it is not
    known.
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
    access_list: list[Access] | None
    authorization_list: list[Authorization] | None
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

        at = _FIELDS[self.type].index("call_data")
        elements = [*self._elements[:at], Element(False, call_data), *self._elements[at + 1 :]]
        parts = (_list(payload) if is_list else codec.encode_raw(payload) for is_list, payload in elements)
        encoded = _list(b"".join(parts))
        return keccak256(encoded if self.type == LEGACY else bytes((self.type,)) + encoded)


def decode(data: bytes) -> EthereumData:
    """Return the transaction in `data`, without its hash. Errors: InvalidEthereumData."""
    kind, elements = _split(data)
    return _decode(data, kind, elements)


def access_list_payload(access_list: list[Access]) -> bytes:
    """Return the RLP of the list's items, without the header of the list."""
    from rlp import codec

    items = [
        [bytes.fromhex(item["address"][2:]), [bytes.fromhex(key[2:]) for key in item["storage_keys"]]]
        for item in access_list
    ]
    return b"".join(codec.encode_raw(item) for item in items)


def signed_bytes(number: int) -> bytes:
    """Return the shortest big-endian two's complement of a number >= 0; 0 is one zero byte."""
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def _list(payload: bytes) -> bytes:
    from rlp import codec

    header: bytes = codec.length_prefix(len(payload), _LIST_OFFSET)
    return header + payload


def _split(data: bytes) -> tuple[int, list[Element]]:
    """Return the type and the elements of the one list."""
    if len(data) < _MINIMUM_LENGTH:
        raise InvalidEthereumData(f"it has {len(data)} bytes, at least {_MINIMUM_LENGTH} are needed")
    outer = _elements(data)
    kind = LEGACY
    if not outer[0].is_list:
        kind = int.from_bytes(outer[0].payload, "big")
        if kind not in _FIELDS or kind == LEGACY:
            raise InvalidEthereumData(f"its type {outer[0].payload[:8].hex()} is none of 1, 2 and 4")
        outer = outer[1:]
    if len(outer) != 1 or not outer[0].is_list:
        raise InvalidEthereumData("it is not one list of elements")
    elements = _elements(outer[0].payload)
    fields = _FIELDS[kind]
    if len(elements) != len(fields):
        raise InvalidEthereumData(f"it has {len(elements)} elements, type {kind} has {len(fields)}")
    for field, element in zip(fields, elements, strict=True):
        if element.is_list != (field in _LISTS):
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
        access_list=_listed(_access, fields.get("access_list")),
        authorization_list=_listed(_authorization, fields.get("authorization_list")),
        recovery_id=recovery_id,
        signature_v=fields.get("v"),
        signature_r=fields["r"],
        signature_s=fields["s"],
        _raw=data,
        _elements=elements,
    )


def _listed(read: Callable[[Element], T], payload: bytes | None) -> list[T] | None:
    return None if payload is None else [read(item) for item in _elements(payload)]


def _access(item: Element) -> Access:
    address, keys = _tuple("Access list tuple", item, _ACCESS_FIELDS)
    if address.is_list or not keys.is_list:
        raise InvalidEthereumData("its access list has an entry that is not an address and a list of keys")
    storage_keys = _elements(keys.payload)
    if any(key.is_list for key in storage_keys):
        raise InvalidEthereumData("its access list has a list for a storage key")
    return {
        "address": _padded(address, _ADDRESS_DIGITS),
        "storage_keys": [_padded(key, _WORD_DIGITS) for key in storage_keys],
    }


def _authorization(item: Element) -> Authorization:
    parts = _tuple("Authorization tuple", item, _AUTHORIZATION_FIELDS)
    if any(part.is_list for part in parts):
        raise InvalidEthereumData("its authorization list has a list within an authorization")
    chain_id, address, nonce, y_parity, r, s = parts
    return {
        "address": _padded(address, _ADDRESS_DIGITS),
        "chain_id": hex(int.from_bytes(chain_id.payload, "big")),
        "nonce": _number("nonce of an authorization", nonce.payload, _MAX_LONG_BYTES),
        "r": _padded(r, _WORD_DIGITS),
        "s": _padded(s, _WORD_DIGITS),
        "y_parity": hex(int.from_bytes(y_parity.payload, "big")),
    }


def _tuple(name: str, item: Element, fields: tuple[str, ...]) -> list[Element]:
    """Return the elements of a list that has one for each field."""
    if not item.is_list:
        raise InvalidEthereumData(f"{name} is not a list")
    parts = _elements(item.payload)
    if len(parts) != len(fields):
        raise InvalidEthereumData(f"{name} size was {len(parts)} but expected {len(fields)}")
    return parts


def _padded(element: Element, digits: int) -> str:
    return f"0x{element.payload.hex():0>{digits}}"


def stripped(number: int) -> bytes:
    """Return a number as bytes without leading zeros, as topics and the slots of state changes are stored."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def created_address(creator: bytes, nonce: int) -> bytes:
    """Return the 20-byte address of the contract that `creator` creates with `nonce`."""
    from rlp import codec

    return keccak256(codec.encode_raw([creator, stripped(nonce)]))[12:]


def _number(field: str, payload: bytes, length: int | None = None) -> int:
    if payload.startswith(b"\0") or (length is not None and len(payload) > length):
        raise InvalidEthereumData(f"its {field} {payload[:32].hex()} is no number, or too large a one")
    return int.from_bytes(payload, "big")


def _long(field: str, payload: bytes) -> int:
    """Return the signed number that has the bits of an unsigned one of up to 64 bits."""
    _number(field, payload, _MAX_LONG_BYTES)
    return int.from_bytes(payload.rjust(_MAX_LONG_BYTES, b"\0"), "big", signed=True)


def error_text(output: bytes) -> str | None:
    """Return the error that code reverted with as text; None if the output has not the form of one.

    Errors have a selector and words: Error(string), Panic(uint256), or one of the contract's own.
    """
    if len(output) % 32 != 4:
        return output.decode() if output and output.isascii() and output.decode().isprintable() else None
    selector, arguments = output[:4], output[4:]
    if selector == _ERROR:
        from eth_abi.abi import decode
        from eth_abi.exceptions import DecodingError

        try:
            return str(decode(["string"], arguments)[0])
        except (DecodingError, UnicodeDecodeError):
            return None
    if selector == _PANIC:
        return f"Panic(0x{int.from_bytes(arguments, 'big'):x})"
    words = ", ".join(f"0x{arguments[start : start + 32].hex()}" for start in range(0, len(arguments), 32))
    return f"Error 0x{selector.hex()}({words})"
