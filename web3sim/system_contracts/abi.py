"""Contract ABI, as much of it as system contracts use: words, addresses, one dynamic part at the end.

Decoding is strict where a caller could mean something else: unused leading bytes of a value are zero, parts
lie within the data. What follows the last part is ignored.
"""

WORD = 32
SELECTOR_LENGTH = 4
_ADDRESS_PADDING = bytes(12)


class InvalidArguments(ValueError):
    """Call data that is no arguments of the function it names."""


def address_at(arguments: bytes, index: int) -> bytes:
    """The address in a word. Errors: InvalidArguments."""
    word = _word(arguments, index)
    if not word.startswith(_ADDRESS_PADDING):
        raise InvalidArguments(f"argument {index} is no address: its first 12 bytes are not zero")
    return word[len(_ADDRESS_PADDING) :]


def number_at(arguments: bytes, index: int) -> int:
    """The uint256 in a word. Errors: InvalidArguments."""
    return int.from_bytes(_word(arguments, index), "big")


def bytes_at(arguments: bytes, index: int) -> bytes:
    """The `bytes` whose offset is in a word. Errors: InvalidArguments."""
    start = number_at(arguments, index)
    if start + WORD > len(arguments):
        raise InvalidArguments(f"argument {index} lies beyond the call data")
    length = int.from_bytes(arguments[start : start + WORD], "big")
    if start + WORD + length > len(arguments):
        raise InvalidArguments(f"argument {index} is longer than the call data")
    return arguments[start + WORD : start + WORD + length]


def word_of(number: int) -> bytes:
    """A uint256."""
    return number.to_bytes(WORD, "big")


def word_of_address(address: bytes) -> bytes:
    return address.rjust(WORD, b"\0")


def one_string(text: bytes) -> bytes:
    """A single string, of its UTF-8 bytes."""
    padded = text.ljust((len(text) + WORD - 1) // WORD * WORD, b"\0")
    return word_of(WORD) + word_of(len(text)) + padded


def _word(arguments: bytes, index: int) -> bytes:
    word = arguments[index * WORD : (index + 1) * WORD]
    if len(word) < WORD:
        raise InvalidArguments(f"argument {index} is missing")
    return word
