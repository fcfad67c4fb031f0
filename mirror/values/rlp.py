"""RLP, Ethereum's encoding of byte strings and lists, read strictly and one level at a time.

Strict: the shortest form of every length, a byte below 0x80 stands for itself, nothing is left over. So what
decodes encodes back to the same bytes. A list is given by its payload, not taken apart: whoever wants its
elements asks again, and nesting can't exhaust the stack.
"""

from typing import NamedTuple

_STRING, _LONG_STRING, _LIST, _LONG_LIST = 0x80, 0xB7, 0xC0, 0xF7
_SHORT_LENGTH = 55


class InvalidRlp(ValueError):
    """Bytes are not strict RLP; the message says what is wrong, and at which byte."""


class Element(NamedTuple):
    """A byte string or a list; `payload` is without the header."""

    is_list: bool
    payload: bytes


def elements(data: bytes) -> list[Element]:
    """The elements that follow each other in `data`: of a list, those of its payload. Errors: InvalidRlp."""
    found = []
    position = 0
    while position < len(data):
        is_list, start, end = _bounds(data, position)
        found.append(Element(is_list, data[start:end]))
        position = end
    return found


def encode(element: Element) -> bytes:
    payload = element.payload
    if not element.is_list and len(payload) == 1 and payload[0] < _STRING:
        return payload
    offset = _LIST if element.is_list else _STRING
    if len(payload) <= _SHORT_LENGTH:
        return bytes((offset + len(payload),)) + payload
    length = len(payload).to_bytes((len(payload).bit_length() + 7) // 8, "big")
    return bytes((offset + _SHORT_LENGTH + len(length),)) + length + payload


def _bounds(data: bytes, position: int) -> tuple[bool, int, int]:
    """Whether the element at `position` is a list, and where its payload starts and ends."""
    first = data[position]
    if first < _STRING:
        return False, position, position + 1
    is_list = first >= _LIST
    start = position + 1
    length = first - (_LIST if is_list else _STRING)
    if length > _SHORT_LENGTH:
        digits = first - (_LONG_LIST if is_list else _LONG_STRING)
        encoded = data[start : start + digits]
        start += digits
        length = int.from_bytes(encoded, "big")
        if len(encoded) < digits or encoded[0] == 0 or length <= _SHORT_LENGTH:
            raise InvalidRlp(f"the length at byte {position} is not in its shortest form")
    end = start + length
    if end > len(data):
        raise InvalidRlp(f"the element at byte {position} is {end - len(data)} bytes longer than its data")
    if not is_list and length == 1 and data[start] < _STRING:
        raise InvalidRlp(f"the single byte at {position} has a needless header")
    return is_list, start, end
