"""Proofs of transactions as JSON: reading them, strictly.

Whatever a document says is either proved or refused: a value is written in one way only, and every member of
a document is read.
"""

import binascii
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from mirror.core.values.json_types import Base64


class NotProved(Exception):
    """A document proves nothing: `step` is the part of the proof that fails, `cause` says why."""

    def __init__(self, step: str, cause: str) -> None:
        self.step, self.cause = step, printable(cause)
        super().__init__(f"Not proved. {step}: {self.cause}.")


def printable(text: str) -> str:
    """Return a text without what would move the cursor of a terminal, such as a document may have."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


_MAX_INT64 = (1 << 63) - 1
_MAX_NESTED = 16
# A text that nothing ends is one up to the end: so everything is looked at once.
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?+|[\[\]{}]', re.DOTALL)
FORM = "The form of the document"


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def parse_json(data: bytes) -> object:
    """Return what JSON says that anybody may have made up. Errors: NotProved."""
    depth = 0
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise NotProved(FORM, "it is no JSON in UTF-8") from None
    for bracket in _BRACKETS.finditer(text):
        depth += bracket[0] in ("[", "{")
        depth -= bracket[0] in ("]", "}")
        # Parsing what is nested deeply may end the process.
        if depth > _MAX_NESTED:
            raise NotProved(FORM, "it is nested more deeply than a proof")
    try:
        value: object = json.loads(text, object_pairs_hook=_unique_members)
    except ValueError:
        raise NotProved(FORM, "it is no JSON") from None
    return value


def _unique_members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of which every member is there once."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotProved(FORM, "a member of an object is there twice")
    return members


def read(value: object, shape: Any, path: str = "") -> Any:
    """Return a JSON value that has exactly a shape, with base64 decoded. Errors: NotProved.

    A shape consists of TypedDicts, lists, objects of any members, Base64, text, numbers, flags and null.
    `path` is what errors call the value.
    """
    origin, arguments = get_origin(shape), get_args(shape)
    if shape == Base64:
        return _data(value, path)
    if origin is Annotated:
        return read(value, arguments[0], path)
    if origin in (Union, UnionType):
        return None if value is None and NoneType in arguments else read(value, _branch(value, shape), path)
    if origin is list:
        if not isinstance(value, list):
            raise NotProved(FORM, f"{path} is no list")
        return [read(each, arguments[0], f"{path}[{index}]") for index, each in enumerate(value)]
    if origin is dict or is_typeddict(shape):
        return _members(value, shape, path)
    if shape is int and (type(value) is not int or not 0 <= value <= _MAX_INT64):
        raise NotProved(FORM, f"{path} is no whole number of 63 bits")
    if shape is str and not isinstance(value, str):
        raise NotProved(FORM, f"{path} is no text")
    if shape is bool and not isinstance(value, bool):
        raise NotProved(FORM, f"{path} is neither true nor false")
    return value


def _branch(value: object, shape: Any) -> Any:
    """Return the shape of several that a value may have: a text is none of an object."""
    shapes = [each for each in get_args(shape) if each is not NoneType]
    return Base64 if Base64 in shapes and isinstance(value, str) else shapes[0]


def _members(value: object, shape: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise NotProved(FORM, f"{path or 'it'} is no JSON object")
    paths = {name: f"{path}.{name}" if path else str(name) for name in value}
    if not is_typeddict(shape):
        return {name: read(each, get_args(shape)[1], paths[name]) for name, each in value.items()}
    hints = _hints(shape)
    members = {name: read(each, hints[name], paths[name]) for name, each in value.items() if name in hints}
    for name in hints:
        if name in shape.__required_keys__ and name not in value:
            raise NotProved(FORM, f"{path}.{name} is missing" if path else f"{name} is missing")
    for name in value:
        if name not in hints:
            raise NotProved(FORM, f"{paths[name]} is nothing that a proof has")
    return members


@cache
def _hints(shape: Any) -> dict[str, Any]:
    return get_type_hints(shape, include_extras=True)


def _data(value: object, path: str) -> bytes:
    """Return what a text in base64 stands for, if it is the only text that stands for it."""
    if not isinstance(value, str):
        raise NotProved(FORM, f"{path} is no text in base64")
    try:
        data = b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        data = None
    if data is None or base64(data) != value:
        raise NotProved(FORM, f"{path} is no text in base64")
    return data
