"""JSON as lenient clients write it, read with the limits of the contract call endpoint.

The grammar is that of RFC 8259. Bounded are the document and its names (characters), its nesting, its tokens
(names, values, opening and closing brackets) and the digits of a number.
"""

import re
from collections.abc import Callable, Iterator
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import NamedTuple

_MAX_DEPTH = 10
_MAX_TOKENS = 100
_MAX_NAME_LENGTH = 100
_MAX_DIGITS = 19

_EXAMPLE = '{"to": "0x…", "data": "0x…"}'

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_NOT_DIGITS = re.compile(r"[^0-9]")
_LITERALS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}


class UnreadableJson(ValueError):
    """The document is no JSON, or more than is taken; the message says what and where."""


class Number(NamedTuple):
    """A number as it was written."""

    text: str

    @property
    def is_whole(self) -> bool:
        return self.text.removeprefix("-").isdecimal()


class Nested:
    """Stands for an object or an array."""


NESTED = Nested()
Value = str | Number | bool | Nested | None


def read_object(body: bytes, most: int, take: Callable[[str, Value], None]) -> None:
    """Read a document that is an object; `take` gets the name and value of each member, in their order.

    `most` limits the length of the document. Errors: UnreadableJson, and whatever `take` raises.
    """
    if len(body) > most:
        raise UnreadableJson(f"The document is longer than {most} characters")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise UnreadableJson(f"The document is not UTF-8 at byte {error.start}") from None
    _Reader(text.removeprefix("\ufeff")).document(take)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._tokens = 0
        self._depth = 0

    def document(self, take: Callable[[str, Value], None]) -> None:
        if self._next() != "{":
            raise UnreadableJson(f"The document must be an object such as {_EXAMPLE}")
        for name in self._members():
            take(name, self._value())
        if self._next():
            raise self._unexpected()

    def _members(self) -> Iterator[str]:
        """The names of the object that begins here; the caller reads the value of each."""
        self._opened()
        if self._next() == "}":
            self._closed()
            return
        while True:
            if self._next() != '"':
                raise self._unexpected("a name in double quotes")
            name = self._string()
            if len(name) > _MAX_NAME_LENGTH:
                raise UnreadableJson(f"A name is longer than {_MAX_NAME_LENGTH} characters")
            if self._next() != ":":
                raise self._unexpected("':'")
            self._at += 1
            yield name
            if self._separated("}"):
                return

    def _elements(self) -> Iterator[None]:
        """One turn for each element of the array that begins here; the caller reads it."""
        self._opened()
        if self._next() == "]":
            self._closed()
            return
        while True:
            yield
            if self._separated("]"):
                return

    def _value(self) -> Value:
        first = self._next()
        if first == '"':
            return self._string()
        if first == "{":
            for _ in self._members():
                self._value()
            return NESTED
        if first == "[":
            for _ in self._elements():
                self._value()
            return NESTED
        if first in _LITERALS:
            text, value = _LITERALS[first]
            if not self._text.startswith(text, self._at):
                raise self._unexpected("a value")
            self._at += len(text)
            self._token()
            return value
        return self._number()

    def _number(self) -> Number:
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            raise self._unexpected("a value")
        if len(_NOT_DIGITS.sub("", match[0])) > _MAX_DIGITS:
            raise UnreadableJson(f"A number has more than {_MAX_DIGITS} digits")
        self._at = match.end()
        self._token()
        return Number(match[0])

    def _string(self) -> str:
        text: str
        try:
            text, self._at = scanstring(self._text, self._at + 1, True)
        except JSONDecodeError as error:
            raise UnreadableJson(f"{error.msg} at character {error.pos}") from None
        self._token()
        # Half of a character, as an escape can have it, is not text that an answer could repeat.
        return text if text.isascii() else text.encode("utf-8", "replace").decode()

    def _next(self) -> str:
        """The next character that is no space; empty at the end."""
        match = _SPACE.match(self._text, self._at)
        assert match
        self._at = match.end()
        return self._text[self._at : self._at + 1]

    def _opened(self) -> None:
        if self._depth == _MAX_DEPTH:
            raise UnreadableJson(f"The document is nested deeper than {_MAX_DEPTH}")
        self._depth += 1
        self._at += 1
        self._token()

    def _closed(self) -> None:
        self._depth -= 1
        self._at += 1
        self._token()

    def _separated(self, closing: str) -> bool:
        """Pass a comma, or the closing bracket; whether it was that."""
        found = self._next()
        if found == closing:
            self._closed()
            return True
        if found != ",":
            raise self._unexpected(f"',' or '{closing}'")
        self._at += 1
        return False

    def _token(self) -> None:
        self._tokens += 1
        if self._tokens > _MAX_TOKENS:
            raise UnreadableJson(f"The document has more than {_MAX_TOKENS} names, values and brackets")

    def _unexpected(self, wanted: str = "the end") -> UnreadableJson:
        found = self._text[self._at : self._at + 1]
        what = f"Unexpected {found!r}" if found else "The document ends too early"
        return UnreadableJson(f"{what} at character {self._at}: {wanted} should be there")
