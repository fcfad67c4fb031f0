"""Contract ABI, as far as system contracts use it: words, addresses, one dynamic part at the end.

Decoding is strict where a caller could mean something else: unused leading bytes of a value are zero, parts
lie within the data. What follows the last part is ignored. eth_abi either demands padding too, which callers
leave out, or cuts short what is not all there; and it takes 10 microseconds where a whole view takes 5.
"""

from eth_abi.abi import encode

WORD = 32
SELECTOR_LENGTH = 4
ERROR_SELECTOR = bytes.fromhex("08c379a0")  # Error(string)
_ADDRESS_PADDING = bytes(12)


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


def bytes_at(arguments: bytes, index: int) -> bytes:
    """Return the `bytes` whose offset is in a word. Errors: InvalidArguments."""
    start = number_at(arguments, index)
    if start + WORD > len(arguments):
        raise InvalidArguments(f"argument {index} lies beyond the call data")
    length = int.from_bytes(arguments[start : start + WORD], "big")
    if start + WORD + length > len(arguments):
        raise InvalidArguments(f"argument {index} is longer than the call data")
    return arguments[start + WORD : start + WORD + length]


def word_of(number: int) -> bytes:
    """Encode a uint256."""
    return number.to_bytes(WORD, "big")


def word_of_address(address: bytes) -> bytes:
    return address.rjust(WORD, b"\0")


def one_string(text: bytes) -> bytes:
    """Encode a single string, given as its UTF-8 bytes."""
    return encode(("bytes",), (text,))


def _word(arguments: bytes, index: int) -> bytes:
    word = arguments[index * WORD : (index + 1) * WORD]
    if len(word) < WORD:
        raise InvalidArguments(f"argument {index} is missing")
    return word
