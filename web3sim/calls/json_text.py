"""JSON of contract calls, read by `json` with the limits of the endpoint.

Bounded are the document and its names (characters), its nesting, its tokens (names, values, opening and
closing brackets) and the digits of a number. Some members may be long lists, each with a bound of its own.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

_MAX_DEPTH = 10
_MAX_TOKENS = 100
_MAX_NAME_LENGTH = 100
_MAX_DIGITS = 19

# A string need not end here, so that no text is searched twice.
_TOKEN = re.compile(r'"(?:[^"\\]+|\\.)*+"?|[\[\]{}]|[^\s,:\[\]{}"]+', re.DOTALL)

_EXAMPLE = '{"to": "0x…", "data": "0x…"}'


class UnreadableJson(ValueError):
    """The document is no JSON, or exceeds a limit; the message says what and where."""


class Number(NamedTuple):
    """A number as it was written."""

    text: str

    @property
    def is_whole(self) -> bool:
        return self.text.removeprefix("-").isdecimal()


class Members(list[tuple[str, Any]]):
    """The names and values of an object, in their order; a name may come twice."""


Value = str | Number | bool | Members | list[Any] | None


#: The names of members of the document that may be long lists, with the number of their tokens.
LongLists = Mapping[str, int]


def read_object(body: bytes, max_bytes: int, long_lists: LongLists) -> Members:
    """Return the members of an object of at most `max_bytes` bytes. Errors: UnreadableJson."""
    if len(body) > max_bytes:
        raise UnreadableJson(f"The document is longer than {max_bytes} characters")
    try:
        text = body.decode().removeprefix("\ufeff")
        _check_size(text, long_lists)
        document = _DECODER.decode(text)
    except UnicodeDecodeError as error:
        raise UnreadableJson(f"The document is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise UnreadableJson(f"{error.msg} at character {error.pos}") from None
    if not isinstance(document, Members):
        raise UnreadableJson(f"The document must be an object such as {_EXAMPLE}")
    return Members((name, _text(value) if isinstance(value, str) else value) for name, value in document)


def as_list(value: Value, name: str) -> list[Any]:
    """Errors: UnreadableJson."""
    if not isinstance(value, list) or isinstance(value, Members):
        raise UnreadableJson(f"{name} must be a list")
    return value


def _members(pairs: list[tuple[str, Any]]) -> Members:
    if any(len(name) > _MAX_NAME_LENGTH for name, _ in pairs):
        raise UnreadableJson(f"A name is longer than {_MAX_NAME_LENGTH} characters")
    return Members(pairs)


def _number(text: str) -> Number:
    if sum(character.isdecimal() for character in text) > _MAX_DIGITS:
        raise UnreadableJson(f"A number has more than {_MAX_DIGITS} digits")
    return Number(text)


def _no_number(name: str) -> NoReturn:
    raise UnreadableJson(f"{name} is not a number of JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_number, parse_float=_number, parse_constant=_no_number
)


def _check_size(text: str, long_lists: LongLists) -> None:
    """Refuse many tokens and deep nesting before `json` takes time and the thread's stack for them."""
    depth = tokens = 0
    of_lists = dict.fromkeys(long_lists, 0)
    long_list = previous = ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "[" and depth == 1 and previous.strip('"') in long_lists:
            long_list = previous.strip('"')
        if not long_list:
            tokens += 1
            if tokens > _MAX_TOKENS:
                raise UnreadableJson(f"The document has more than {_MAX_TOKENS} names, values and brackets")
        else:
            of_lists[long_list] += 1
            limit = long_lists[long_list]
            if of_lists[long_list] > limit:
                raise UnreadableJson(f"{long_list} has more than {limit} names, values and brackets")
        if token in ("[", "{"):
            depth += 1
            if depth > _MAX_DEPTH:
                raise UnreadableJson(f"The document is nested deeper than {_MAX_DEPTH}")
        elif token in ("]", "}"):
            depth -= 1
            long_list = long_list if depth > 1 else ""
        previous = token


def _text(text: str) -> str:
    """Replace half characters, which escapes can write, but which no answer could repeat."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
