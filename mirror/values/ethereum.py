"""Raw Ethereum transactions: legacy, EIP-2930 (type 1) and EIP-1559 (type 2), as an EthereumTransaction body
carries them in RLP.
"""

from dataclasses import dataclass

from mirror.values import rlp
from mirror.values.hashes import keccak256
from mirror.values.rlp import Element

LEGACY, EIP_2930, EIP_1559 = 0, 1, 2
WEIBARS_PER_TINYBAR = 10_000_000_000

# Elements in their order on the wire; those of no interest to us beyond the raw bytes keep their place.
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
    """Bytes are no Ethereum transaction of a known type; the message says why."""


@dataclass(slots=True, kw_only=True)
class EthereumData:
    """A decoded transaction: bytes as they stand in it, None where its type has no such element.

    Prices are weibars as unsigned bytes. `access_list` is the list's RLP payload. `hash` is the 32 bytes its
    sender knows it by; b"" while, or when, that can't be told.
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
        """Keccak-256 of the transaction, with `call_data` in the place of its own when given.

        B"" if that is not possible: the call data of a transaction with an access list can't be replaced.
        """
        if call_data is None:
            return keccak256(self._raw)
        if self.access_list:
            return b""
        replaced = list(self._elements)
        replaced[_FIELDS[self.type].index("call_data")] = Element(False, call_data)
        encoded = rlp.encode(Element(True, b"".join(map(rlp.encode, replaced))))
        return keccak256(encoded if self.type == LEGACY else bytes((self.type,)) + encoded)


def decode(data: bytes) -> EthereumData:
    """The transaction in `data`, without its hash. Errors: InvalidEthereumData."""
    try:
        kind, elements = _split(data)
        return _decode(data, kind, elements)
    except rlp.InvalidRlp as error:
        raise InvalidEthereumData(f"it is not strict RLP: {error}") from error


def tinybars(weibars: int) -> bytes:
    """The whole tinybars of an amount of weibars as the database keeps them: shortest big-endian two's
    complement, 0 as one zero byte.
    """
    return signed_bytes(weibars // WEIBARS_PER_TINYBAR)


def signed_bytes(number: int) -> bytes:
    """The shortest big-endian two's complement of a number >= 0: a zero byte first if the top bit is set."""
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def _split(data: bytes) -> tuple[int, list[Element]]:
    """The type and the elements of the one list."""
    if len(data) < _MINIMUM_LENGTH:
        raise InvalidEthereumData(f"it has {len(data)} bytes, at least {_MINIMUM_LENGTH} are needed")
    outer = rlp.elements(data)
    kind = LEGACY
    if not outer[0].is_list:
        kind = int.from_bytes(outer[0].payload, "big")
        if kind not in (EIP_2930, EIP_1559):
            raise InvalidEthereumData(f"its type {outer[0].payload[:8].hex()} is none of 1 and 2")
        outer = outer[1:]
    if len(outer) != 1 or not outer[0].is_list:
        raise InvalidEthereumData("it is not one list of elements")
    elements = rlp.elements(outer[0].payload)
    fields = _FIELDS[kind]
    if len(elements) != len(fields):
        raise InvalidEthereumData(f"it has {len(elements)} elements, type {kind} has {len(fields)}")
    for field, element in zip(fields, elements, strict=True):
        if element.is_list != (field == "access_list"):
            raise InvalidEthereumData(f"its {field} is {'a list' if element.is_list else 'not a list'}")
    return kind, elements


def _decode(data: bytes, kind: int, elements: list[Element]) -> EthereumData:
    given = dict(zip(_FIELDS[kind], (element.payload for element in elements), strict=True))
    chain_id = given.get("chain_id")
    if kind == LEGACY:
        v = _number("v", given["v"])
        recovery_id = 0 if v % 2 else 1
        if v >= _EIP_155_V:
            chain_id = signed_bytes((v - _EIP_155_V) // 2)
    else:
        recovery_id = _number("recovery_id", given["recovery_id"], 1)
    return EthereumData(
        type=kind,
        chain_id=chain_id,
        nonce=_long("nonce", given["nonce"]),
        gas_price=given.get("gas_price"),
        max_priority_fee_per_gas=given.get("max_priority_fee_per_gas"),
        max_fee_per_gas=given.get("max_fee_per_gas"),
        gas_limit=_long("gas_limit", given["gas_limit"]),
        to_address=given["to"],
        value=_number("value", given["value"]),
        call_data=given["call_data"],
        access_list=given.get("access_list"),
        recovery_id=recovery_id,
        signature_v=given.get("v"),
        signature_r=given["r"],
        signature_s=given["s"],
        _raw=data,
        _elements=elements,
    )


def created_address(creator: bytes, nonce: int) -> bytes:
    """Where a contract comes to live that is created with this nonce of the creator's: 20 bytes."""
    number = nonce.to_bytes((nonce.bit_length() + 7) // 8, "big")
    pair = b"".join(rlp.encode(Element(is_list=False, payload=payload)) for payload in (creator, number))
    return keccak256(rlp.encode(Element(is_list=True, payload=pair)))[12:]


def _number(field: str, payload: bytes, length: int | None = None) -> int:
    if payload.startswith(b"\0") or (length is not None and len(payload) > length):
        raise InvalidEthereumData(f"its {field} {payload[:32].hex()} is no number, or too large a one")
    return int.from_bytes(payload, "big")


def _long(field: str, payload: bytes) -> int:
    """A number of up to 64 bits, as the signed one with the same bits."""
    _number(field, payload, _MAX_LONG_BYTES)
    return int.from_bytes(payload.rjust(_MAX_LONG_BYTES, b"\0"), "big", signed=True)
