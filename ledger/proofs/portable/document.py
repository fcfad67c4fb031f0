"""Proofs of transactions as JSON: reading them, strictly.

Whatever a document says is either proved or refused: a value is written in one way only, and every member of
a document is read.
"""

import binascii
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from mirror.core.values.hashes import SHA_384_LENGTH


class NotProved(Exception):
    """A document proves nothing: `step` is the part of the proof that fails, `cause` says why."""

    def __init__(self, step: str, cause: str) -> None:
        self.step, self.cause = step, printable(cause)
        super().__init__(f"Not proved. {step}: {self.cause}.")


def printable(text: str) -> str:
    """Return a text without what would move the cursor of a terminal, such as a document may have."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


_MOST = (1 << 63) - 1
_MOST_NESTED = 16
# A text that nothing ends is one up to the end: so everything is looked at once.
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?+|[\[\]{}]', re.DOTALL)
FORM = "The form of the document"

Value = TypeVar("Value")


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def parsed(data: bytes) -> object:
    """Return what JSON says that anybody may have made up. Errors: NotProved."""
    depth = 0
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise NotProved(FORM, "it is no JSON in UTF-8") from None
    for found in _BRACKETS.finditer(text):
        depth += found[0] in ("[", "{")
        depth -= found[0] in ("]", "}")
        # Parsing what is nested deeply may end the process.
        if depth > _MOST_NESTED:
            raise NotProved(FORM, "it is nested more deeply than a proof")
    try:
        value: object = json.loads(text, object_pairs_hook=_once)
    except ValueError:
        raise NotProved(FORM, "it is no JSON") from None
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of which every member is there once."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotProved(FORM, "a member of an object is there twice")
    return members


class Part:
    """A JSON object of a document, whose values are taken one by one; `place` is what errors call it."""

    def __init__(self, value: object, place: str = "") -> None:
        if not isinstance(value, Mapping):
            raise NotProved(FORM, f"{place or 'it'} is no JSON object")
        self._values: dict[str, Any] = dict(value)
        self._place = place

    def take(self, name: str) -> Any:
        """Return a value of any kind. All of these raise NotProved for a value that is missing or wrong."""
        if name not in self._values:
            raise NotProved(FORM, f"{self.place_of(name)} is missing")
        return self._values.pop(name)

    def place_of(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name

    def peek(self, name: str) -> object:
        """Return a value that is to be taken later, None if it is missing."""
        return self._values.get(name)

    def is_text(self, name: str) -> bool:
        return isinstance(self._values.get(name), str)

    def part(self, name: str) -> "Part":
        return Part(self.take(name), self.place_of(name))

    def parts(self, name: str) -> "list[Part]":
        place = self.place_of(name)
        return [Part(each, f"{place}[{index}]") for index, each in enumerate(self._list(name))]

    def text(self, name: str) -> str:
        value = self.take(name)
        if not isinstance(value, str):
            raise NotProved(FORM, f"{self.place_of(name)} is no text")
        return value

    def number(self, name: str) -> int:
        value = self.take(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
            raise NotProved(FORM, f"{self.place_of(name)} is no whole number of 63 bits")
        return value

    def flag(self, name: str) -> bool:
        value = self.take(name)
        if not isinstance(value, bool):
            raise NotProved(FORM, f"{self.place_of(name)} is neither true nor false")
        return value

    def data(self, name: str) -> bytes:
        return _data(self.take(name), self.place_of(name))

    def hash(self, name: str) -> bytes:
        """Return a SHA-384 hash."""
        data = self.data(name)
        if len(data) != SHA_384_LENGTH:
            raise NotProved(FORM, f"{self.place_of(name)} has {len(data)} bytes; a hash has {SHA_384_LENGTH}")
        return data

    def all_data(self, name: str) -> list[bytes]:
        place = self.place_of(name)
        return [_data(each, f"{place}[{index}]") for index, each in enumerate(self._list(name))]

    def optional(self, read: Callable[[str], Value], name: str) -> Value | None:
        """Return what a method of this part reads, None for null."""
        if self._values.get(name, self) is not None:
            return read(name)
        del self._values[name]
        return None

    def items(self) -> list[tuple[str, bytes]]:
        """Return everything that is left, as data by name."""
        return [(name, self.data(name)) for name in list(self._values)]

    def finish(self) -> None:
        """Require that every value has been taken."""
        for name in self._values:
            raise NotProved(FORM, f"{self.place_of(name)} is nothing that a proof has")

    def _list(self, name: str) -> list[object]:
        value = self.take(name)
        if not isinstance(value, list):
            raise NotProved(FORM, f"{self.place_of(name)} is no list")
        return value


def _data(value: object, place: str) -> bytes:
    """Return what a text in base64 stands for, if it is the only text that stands for it."""
    if not isinstance(value, str):
        raise NotProved(FORM, f"{place} is no text in base64")
    try:
        data = b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        data = None
    if data is None or base64(data) != value:
        raise NotProved(FORM, f"{place} is no text in base64")
    return data
