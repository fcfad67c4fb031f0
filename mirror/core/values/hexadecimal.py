"""Bytes in text: lower-case hex with and without `0x`, and base64."""

import re
from binascii import b2a_base64
from typing import overload

_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})*)")


class InvalidHex(ValueError):
    """The text is not the hex of whole bytes."""


@overload
def text(data: None) -> None: ...
@overload
def text(data: bytes) -> str: ...
@overload
def text(data: bytes | None) -> str | None: ...
def text(data: bytes | None) -> str | None:
    """Return lower-case hex with `0x`; `0x` alone for no bytes; None for None."""
    return None if data is None else "0x" + data.hex()


def parse(text: str) -> bytes:
    """Return the bytes of hex in any case, with or without `0x`. Errors: InvalidHex."""
    match = _HEX.fullmatch(text)
    if match is None:
        raise InvalidHex(f'"{text}" is not hex: an even number of the digits 0-9 and a-f, with or without 0x')
    return bytes.fromhex(match[1])


@overload
def base64_text(data: None) -> None: ...
@overload
def base64_text(data: bytes) -> str: ...
@overload
def base64_text(data: bytes | None) -> str | None: ...
def base64_text(data: bytes | None) -> str | None:
    """Return standard base64 with padding, on one line; None for None."""
    return None if data is None else b2a_base64(data, newline=False).decode()
