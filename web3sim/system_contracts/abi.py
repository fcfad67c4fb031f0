"""Contract ABI: words in a short way, any other types by eth_abi.

Decoding is strict: unused leading bytes of a value are zero, parts lie within the data, and nothing follows
the last one. The short way exists because eth_abi takes 10 microseconds, a whole view 5.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from eth_abi.abi import encode
from eth_abi.decoding import AddressDecoder, ContextFramesBytesIO
from eth_abi.exceptions import DecodingError
from eth_abi.grammar import parse
from eth_abi.registry import BaseEquals
from eth_abi.registry import registry as library_registry

from mirror.core.db.reading.sql import MAX_INT64

WORD = 32
SELECTOR_LENGTH = 4
ERROR_SELECTOR = bytes.fromhex("08c379a0")  # Error(string)
_ADDRESS_LENGTH = 20
_MAX_READS_PER_BYTE = 8
# The offset of the only argument.
_WORD_32 = WORD.to_bytes(WORD, "big")


class InvalidArguments(ValueError):
    """Call data that a function can't take: the system contract halts."""


def int64_of(number: int) -> int:
    """Return a number that the ledger can count. Errors: InvalidArguments."""
    if number > MAX_INT64:
        raise InvalidArguments(f"{number} is no int64")
    return number


def bytes_at(arguments: bytes, index: int) -> bytes:
    """Return the `bytes` whose offset is in a word, whatever follows them. Errors: InvalidArguments."""
    start = int.from_bytes(_word(arguments, index * WORD))
    length = int.from_bytes(_word(arguments, start))
    if start + WORD + length > len(arguments):
        raise InvalidArguments(f"argument {index} is longer than the call data")
    return arguments[start + WORD : start + WORD + length]


def _word(arguments: bytes, start: int) -> bytes:
    word = arguments[start : start + WORD]
    if len(word) < WORD:
        raise InvalidArguments(f"the word at {start} is missing")
    return word


# WORDS


class _WordType(NamedTuple):
    """A type that takes one word: the numbers that it allows."""

    name: str
    minimum: int
    maximum: int

    def value(self, word: bytes) -> Any:
        """Errors: InvalidArguments."""
        number = int.from_bytes(word, signed=self.minimum < 0)
        if not self.minimum <= number <= self.maximum:
            raise InvalidArguments(f"{word.hex()} is no {self.name}")
        if self.name == "address":
            return word[-_ADDRESS_LENGTH:]
        return number == 1 if self.name == "bool" else number

    def word(self, value: Any) -> bytes:
        if self.name == "address":
            return word_of_address(value)
        return int(value).to_bytes(WORD, signed=self.minimum < 0)


@cache
def _word_types(types: tuple[str, ...]) -> tuple[_WordType, ...] | None:
    """Return what words of these types hold; None if one of the types takes more than a word, or none."""
    words = tuple(map(_word_type, types))
    return tuple(word for word in words if word is not None) if None not in words else None


def _word_type(name: str) -> _WordType | None:
    kind = parse(name)
    base = None if kind.is_array else getattr(kind, "base", None)
    if base == "address":
        return _WordType(name, 0, (1 << _ADDRESS_LENGTH * 8) - 1)
    if base == "bool":
        return _WordType(name, 0, 1)
    if base == "uint":
        return _WordType(name, 0, (1 << kind.sub) - 1)
    return _WordType(name, -(1 << kind.sub - 1), (1 << kind.sub - 1) - 1) if base == "int" else None


# ANY TYPES


class _BytesOfAddress(AddressDecoder):
    """An address as its 20 bytes."""

    decoder_fn: Any = staticmethod(bytes)


class _Stream(ContextFramesBytesIO):
    """Arguments with a limit on how much is read: offsets can name the same part thousands of times.

    What encoders write is read once, where tuples lie in one another up to four times.
    """

    def __init__(self, arguments: bytes) -> None:
        super().__init__(arguments)  # type: ignore[no-untyped-call]
        self._bytes_left = _MAX_READS_PER_BYTE * len(arguments)
        self.furthest = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self._bytes_left -= len(data)
        if self._bytes_left < 0:
            raise InvalidArguments("offsets name the same parts again and again")
        self.furthest = max(self.furthest, self.tell())
        return data


_registry: Any = library_registry.copy()  # type: ignore[no-untyped-call]
_registry.unregister_decoder("address")
_is_address = BaseEquals("address")  # type: ignore[no-untyped-call]
_registry.register_decoder(_is_address, _BytesOfAddress, label="address")
_tuple_decoder = cache(lambda types: _registry.get_tuple_decoder(*types))


def decoded(types: tuple[str, ...], arguments: bytes) -> tuple[Any, ...]:
    """Return arguments of any types, addresses as bytes; without types whatever follows is ignored.

    Errors: InvalidArguments.
    """
    if not types:
        return ()
    words = _word_types(types)
    if words is None:
        return _decoded_by_library(types, arguments)
    if len(arguments) != len(words) * WORD:
        raise InvalidArguments(f"{len(arguments)} bytes are no {len(words)} words")
    return tuple(
        [word.value(arguments[index * WORD : (index + 1) * WORD]) for index, word in enumerate(words)]
    )


def _decoded_by_library(types: tuple[str, ...], arguments: bytes) -> tuple[Any, ...]:
    stream = _Stream(arguments)
    try:
        values: tuple[Any, ...] = _tuple_decoder(types)(stream)
    except (DecodingError, OverflowError, UnicodeDecodeError) as error:
        raise InvalidArguments(str(error)) from None
    if stream.furthest < len(arguments):
        raise InvalidArguments(f"{len(arguments) - stream.furthest} bytes follow the arguments")
    return values


def encoded(types: tuple[str, ...], values: Sequence[Any]) -> bytes:
    """Encode values of any types, addresses as bytes."""
    words = _word_types(types)
    if words is not None:
        return b"".join([word.word(value) for word, value in zip(words, values, strict=True)])
    if types == ("string",):
        return one_string(values[0].encode())
    return encode(types, values)


@cache
def empty(abi_type: str) -> Any:
    """Return the value of a type that is zero or has nothing in it."""
    return _empty(parse(abi_type))


def _empty(abi_type: Any) -> Any:
    if abi_type.is_array:
        length = abi_type.arrlist[-1]
        return [_empty(abi_type.item_type)] * (length[0] if length else 0)
    components = getattr(abi_type, "components", None)
    if components is not None:
        return tuple(map(_empty, components))
    base: str = abi_type.base
    if base == "bytes":
        return bytes(abi_type.sub or 0)
    return {"string": "", "bool": False, "address": bytes(_ADDRESS_LENGTH)}.get(base, 0)


def word_of(number: int) -> bytes:
    """Encode a uint256."""
    return number.to_bytes(WORD, "big")


def word_of_address(address: bytes) -> bytes:
    return address.rjust(WORD, b"\0")


def one_string(text: bytes) -> bytes:
    """Encode a single string, given as its UTF-8 bytes."""
    return _WORD_32 + word_of(len(text)) + text + bytes(-len(text) % WORD)
