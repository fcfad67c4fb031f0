"""The protobuf wire format, read without a schema: where each field of a message starts and ends.

The compiled classes don't tell the raw bytes of text that is not UTF-8, nor the place of an error in a large
message. HAPI does not use groups (wire types 3 and 4); they count as an error.
"""

from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf.message import DecodeError

VARINT, FIXED64, LENGTH_DELIMITED, FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10


class Field(NamedTuple):
    """A field of a message: where its tag starts, where its value starts (after a length), where it ends."""

    number: int
    wire_type: int
    start: int
    value: int
    end: int


def fields(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """Yield the fields of the message in `data[start:end]`, in their order there.

    Errors: DecodeError, which names the byte where the message is cut off or malformed.
    """
    limit = len(data) if end is None else end
    position = start
    while position < limit:
        tag, value = varint(data, position, limit)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise DecodeError(f"field number 0 at byte {position}")
        if wire_type == VARINT:
            _, after = varint(data, value, limit)
        elif wire_type == LENGTH_DELIMITED:
            length, value = varint(data, value, limit)
            after = value + length
        elif wire_type == FIXED64:
            after = value + 8
        elif wire_type == FIXED32:
            after = value + 4
        else:
            raise DecodeError(f"wire type {wire_type} at byte {position}")
        if after > limit:
            raise DecodeError(f"field {number} at byte {position} is longer than its message")
        yield Field(number, wire_type, position, value, after)
        position = after


def elements(data: bytes, number: int) -> Iterator[tuple[int, int, int]]:
    """Yield where each element of a repeated field starts, where its value does, and where it ends.

    The message has this field alone, which is length-delimited; its number is below 16. Errors: DecodeError.
    """
    limit, expected, position = len(data), number << 3 | LENGTH_DELIMITED, 0
    while position < limit:
        if data[position] != expected:
            other = next(fields(data, position))
            raise DecodeError(f"field {other.number} is unknown")
        value = position + 2
        if value > limit or (length := data[position + 1]) > 0x7F:
            length, value = varint(data, position + 1, limit)
        end = value + length
        if end > limit:
            raise DecodeError(f"field {number} at byte {position} is longer than its message")
        yield position, value, end
        position = end


def varint(data: bytes, position: int, limit: int) -> tuple[int, int]:
    """Return the unsigned variable-length integer at `position`, and the position after it."""
    if position + 1 < limit:
        # Nearly all have at most two bytes.
        first, second = data[position], data[position + 1]
        if first < 0x80:
            return first, position + 1
        if second < 0x80:
            return first & 0x7F | second << 7, position + 2
    result = 0
    for index in range(_MAX_VARINT_BYTES):
        if position + index >= limit:
            break
        byte = data[position + index]
        result |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return result, position + index + 1
    raise DecodeError(f"number at byte {position} does not end")


def length_delimited(number: int, value: bytes) -> bytes:
    """Return a field of wire type 2: tag, length, value."""
    return encode_varint(number << 3 | LENGTH_DELIMITED) + encode_varint(len(value)) + value


def encode_varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def last_bytes(data: bytes, number: int) -> bytes:
    """Return the raw value of a length-delimited field; b"" if absent, the last if it occurs repeatedly."""
    return (repeated_bytes(data, number) or [b""])[-1]


def repeated_bytes(data: bytes, number: int) -> list[bytes]:
    """Return the raw values of a repeated length-delimited field."""
    return [
        data[field.value : field.end]
        for field in fields(data)
        if field.number == number and field.wire_type == LENGTH_DELIMITED
    ]
