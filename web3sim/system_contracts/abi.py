"""Contract ABI: any types by eth_abi; words, addresses and one dynamic part at the end in a shorter way.

Decoding is strict where a caller could mean something else: unused leading bytes of a value are zero, parts
lie within the data. What follows the last part is ignored. The shorter way exists because eth_abi takes 10
microseconds, a whole view 5.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from eth_abi.abi import encode
from eth_abi.codec import ABICodec
from eth_abi.decoding import AddressDecoder, ContextFramesBytesIO
from eth_abi.exceptions import DecodingError
from eth_abi.grammar import parse
from eth_abi.registry import BaseEquals
from eth_abi.registry import registry as library_registry

from mirror.core.db.reading.sql import MAX_INT64

WORD = 32
SELECTOR_LENGTH = 4
ERROR_SELECTOR = bytes.fromhex("08c379a0")  # Error(string)
_ADDRESS_PADDING = bytes(12)
_ADDRESS_LENGTH = 20
_MOST_READINGS = 8
# The offset of the only argument.
_WORD_32 = WORD.to_bytes(WORD, "big")


class InvalidArguments(ValueError):
    """Call data that does not hold the arguments of the function it names."""


def address_at(arguments: bytes, index: int) -> bytes:
    """Return the address in a word. Errors: InvalidArguments."""
    word = _word(arguments, index)
    if not word.startswith(_ADDRESS_PADDING):
        raise InvalidArguments(f"argument {index} is no address: its first 12 bytes are not zero")
    return word[len(_ADDRESS_PADDING) :]


def number_at(arguments: bytes, index: int) -> int:
    """Return the uint256 in a word. Errors: InvalidArguments."""
    return int.from_bytes(_word(arguments, index), "big")


def int64_of(number: int) -> int:
    """Return a number that the ledger can count. Errors: InvalidArguments."""
    if number > MAX_INT64:
        raise InvalidArguments(f"{number} is no int64")
    return number


def bytes_at(arguments: bytes, index: int) -> bytes:
    """Return the `bytes` whose offset is in a word. Errors: InvalidArguments."""
    start = number_at(arguments, index)
    if start + WORD > len(arguments):
        raise InvalidArguments(f"argument {index} lies beyond the call data")
    length = int.from_bytes(arguments[start : start + WORD], "big")
    if start + WORD + length > len(arguments):
        raise InvalidArguments(f"argument {index} is longer than the call data")
    return arguments[start + WORD : start + WORD + length]


class _BytesOfAddress(AddressDecoder):
    """An address as its 20 bytes."""

    decoder_fn: Any = staticmethod(bytes)


class _Stream(ContextFramesBytesIO):
    """Arguments with a limit on how much is read: offsets can name the same part thousands of times.

    What encoders write is read once, where tuples lie in one another up to four times.
    """

    def __init__(self, arguments: bytes) -> None:
        super().__init__(arguments)  # type: ignore[no-untyped-call]
        self._left = _MOST_READINGS * len(arguments)

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self._left -= len(data)
        if self._left < 0:
            raise InvalidArguments("offsets name the same parts again and again")
        return data


class _Codec(ABICodec):
    stream_class = _Stream


_registry: Any = library_registry.copy()  # type: ignore[no-untyped-call]
_registry.unregister_decoder("address")
_is_address = BaseEquals("address")  # type: ignore[no-untyped-call]
_registry.register_decoder(_is_address, _BytesOfAddress, label="address")
_codec = _Codec(_registry)


def decoded(types: Sequence[str], arguments: bytes) -> tuple[Any, ...]:
    """Return arguments of any types, addresses as bytes. Padding at their end may be missing.

    Errors: InvalidArguments.
    """
    try:
        return _codec.decode(types, arguments + bytes(-len(arguments) % WORD))
    except (DecodingError, OverflowError, UnicodeDecodeError) as error:
        raise InvalidArguments(str(error)) from None


def encoded(types: Sequence[str], values: Sequence[Any]) -> bytes:
    """Encode values of any types, addresses as bytes."""
    return encode(types, values)


@cache
def empty(kind: str) -> Any:
    """Return the value of a type that is zero or has nothing in it."""
    return _empty(parse(kind))


def _empty(kind: Any) -> Any:
    if kind.is_array:
        length = kind.arrlist[-1]
        return [_empty(kind.item_type)] * (length[0] if length else 0)
    components = getattr(kind, "components", None)
    if components is not None:
        return tuple(map(_empty, components))
    base: str = kind.base
    if base == "bytes":
        return bytes(kind.sub or 0)
    return {"string": "", "bool": False, "address": bytes(_ADDRESS_LENGTH)}.get(base, 0)


def word_of(number: int) -> bytes:
    """Encode a uint256."""
    return number.to_bytes(WORD, "big")


def word_of_address(address: bytes) -> bytes:
    return address.rjust(WORD, b"\0")


def one_string(text: bytes) -> bytes:
    """Encode a single string, given as its UTF-8 bytes."""
    return _WORD_32 + word_of(len(text)) + text + bytes(-len(text) % WORD)


def _word(arguments: bytes, index: int) -> bytes:
    word = arguments[index * WORD : (index + 1) * WORD]
    if len(word) < WORD:
        raise InvalidArguments(f"argument {index} is missing")
    return word
