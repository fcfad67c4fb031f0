"""Values of annotated types as JSON, for other processes of a node and for later ones.

Decoding creates only objects of the annotated classes with values of the annotated types. It imports and
calls nothing else, so hostile JSON cannot run code.

Objects are lists of their fields, dictionaries are a list of keys and one of values, bytes are hexadecimal.
"""

import json
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import orjson

_ENCODER = json.JSONEncoder(separators=(",", ":"))
# Nesting in a text this short cannot overflow the stack.
_SHORT = 4096
_PLAIN = {int, str, bool, float}
_ITEMS = {list: list, tuple: tuple, set: set, Sequence: list}
_DICTIONARIES = {dict: dict, Mapping: dict, Counter: Counter}


class InvalidContent(ValueError):
    """The bytes hold no value of the type."""


class Codec(NamedTuple):
    """Converts values of a type to JSON values and back; without `encode` both are equal."""

    encode: Callable[[Any], Any] | None
    decode: Callable[[Any], Any]

    def apply(self, value: Any) -> Any:
        return self.encode(value) if self.encode else value


class TypedJson:
    """Writes and reads values of a type.

    Supported are numbers, text, bytes, collections, enums, named tuples and dataclasses. `codecs` has
    functions that create the codec of any other type.
    """

    def __init__(self, hint: Any, codecs: Mapping[Any, Callable[["TypedJson"], Codec]] | None = None) -> None:
        self._others = codecs or {}
        self._codecs: dict[Any, Codec] = {}
        self._codec = self.codec(hint)

    def encode(self, value: Any) -> bytes:
        return _ENCODER.encode(self._codec.apply(value)).encode()

    def decode(self, content: bytes) -> Any:
        """Return the encoded value. Errors: InvalidContent."""
        try:
            if len(content) > _SHORT:
                # The standard library parses numbers of 256 bits, but does not limit nesting; orjson does.
                orjson.loads(content)
            return self._codec.decode(json.loads(content))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InvalidContent(str(error)) from error

    def codec(self, hint: Any) -> Codec:
        if hint not in self._codecs:
            self._codecs[hint] = self._others[hint](self) if hint in self._others else self._made(hint)
        return self._codecs[hint]

    def _made(self, hint: Any) -> Codec:
        origin, arguments = get_origin(hint) or hint, get_args(hint)
        if origin in _PLAIN:
            return Codec(None, partial(checked, (float, int) if origin is float else (origin,)))
        if origin is bytes:
            return Codec(bytes.hex, lambda value: bytes.fromhex(checked((str,), value)))
        if origin in (Union, UnionType):
            return self._union([each for each in arguments if each is not NoneType], NoneType in arguments)
        if origin is tuple and arguments[-1] is not ...:
            return _tuple([self.codec(each) for each in arguments], tuple)
        if origin in _ITEMS:
            return _items(_ITEMS[origin], self.codec(arguments[0]))
        if origin is deque:
            pair = self.codec(tuple[list[arguments[0]], int | None])  # type: ignore[valid-type]
            return Codec(
                lambda value: pair.apply((list(value), value.maxlen)),
                lambda value: deque(*pair.decode(value)),
            )
        if origin in _DICTIONARIES:
            key, content = arguments if len(arguments) > 1 else (*arguments, int)
            pair, kind = self.codec(tuple[list[key], list[content]]), _DICTIONARIES[origin]  # type: ignore[valid-type]
            return Codec(
                lambda value: pair.apply((list(value), list(value.values()))),
                lambda value: kind(dict(zip(*pair.decode(value), strict=True))),
            )
        if issubclass(hint, tuple):
            return _tuple(
                [self.codec(each) for each in get_type_hints(hint).values()], lambda values: hint(*values)
            )
        if issubclass(hint, Enum):
            return Codec(lambda value: value.value, hint)
        if not (isinstance(hint, type) and is_dataclass(hint)):
            raise TypeError(f"{hint} has no form as JSON")
        every = get_type_hints(hint)
        return self.object(
            {each.name: every[each.name] for each in fields(hint)}, partial(object.__new__, hint)
        )

    def object(self, attributes: Mapping[str, Any], new: Callable[[], Any]) -> Codec:
        """Return the codec of objects by their attributes, which are set in `new` ones."""
        names, codecs = tuple(attributes), [self.codec(each) for each in attributes.values()]
        special = [(place, codec.encode) for place, codec in enumerate(codecs) if codec.encode]
        # Of a single name it would return no tuple.
        get = attrgetter(*names, names[0])

        def encode(value: Any) -> list[Any]:
            values = [*get(value)]
            values.pop()
            for place, encode_field in special:
                values[place] = encode_field(values[place])
            return values

        def decode(value: Any) -> Any:
            made = new()
            for name, codec, content in zip(names, codecs, checked((list,), value), strict=True):
                # A frozen class has no other way.
                object.__setattr__(made, name, codec.decode(content))
            return made

        return Codec(encode, decode)

    def _union(self, members: list[Any], is_optional: bool) -> Codec:
        codecs = [self.codec(each) for each in members]
        if set(members) <= _PLAIN:
            return Codec(None, partial(checked, (*members, *((NoneType,) if is_optional else ()))))
        if len(members) == 1:
            (only,) = codecs
            return Codec(
                only.encode and (lambda value: None if value is None else only.apply(value)),
                lambda value: None if value is None else only.decode(value),
            )
        number_of = {get_origin(each) or each: number for number, each in enumerate(members)}

        def encode(value: Any) -> Any:
            if value is None and is_optional:
                return None
            number = number_of[type(value)]
            return [number, codecs[number].apply(value)]

        def decode(value: Any) -> Any:
            if value is None and is_optional:
                return None
            number, content = value
            return item_at(codecs, number).decode(content)

        return Codec(encode, decode)


def checked(types: tuple[type, ...], value: Any) -> Any:
    """Return a value of one of these types. Errors: TypeError."""
    # Not isinstance: a bool is no int here.
    if type(value) not in types:
        raise TypeError(f"{value!r:.40} is none of {types}")
    return value


def item_at(items: Sequence[Any], number: Any) -> Any:
    """Return the item of a number. Errors: TypeError, IndexError."""
    if checked((int,), number) < 0:
        raise IndexError(number)
    return items[number]


def _items(kind: Callable[[Any], Any], item: Codec) -> Codec:
    encode, decode = item

    def decoded(value: Any) -> Any:
        return kind(map(decode, checked((list,), value)))

    if encode:
        return Codec(lambda values: list(map(encode, values)), decoded)
    return Codec(sorted if kind is set else None, decoded)


def _tuple(codecs: list[Codec], kind: Callable[[Any], Any]) -> Codec:
    def decode(value: Any) -> Any:
        contents = zip(codecs, checked((list,), value), strict=True)
        return kind([codec.decode(each) for codec, each in contents])

    if not any(codec.encode for codec in codecs):
        return Codec(None, decode)
    return Codec(
        lambda values: [codec.apply(each) for codec, each in zip(codecs, values, strict=True)], decode
    )
