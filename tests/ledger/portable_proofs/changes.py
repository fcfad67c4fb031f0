"""Changing one bit of a document: of what its texts in base64 stand for, and of its plain values."""

import copy
from base64 import b64decode, b64encode
from collections.abc import Iterator
from random import Random
from typing import Any

TransactionLocation = tuple[Any, ...]


def values_of(part: Any, at: TransactionLocation = ()) -> Iterator[TransactionLocation]:
    """Where the values of a document are."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield from values_of(value, (*at, key))
    elif isinstance(part, list):
        for index, value in enumerate(part):
            yield from values_of(value, (*at, index))
    elif part is not None and part != "":
        yield at


def flipped(document: Any, place: TransactionLocation, choose: Random) -> Any:
    """The document with one bit changed at a place."""
    changed = copy.deepcopy(document)
    part = changed
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = _flipped(part[place[-1]], choose)
    return changed


def _flipped(value: Any, choose: Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value ^ 1 << choose.randrange(8)
    try:
        data = bytearray(b64decode(value, validate=True))
    except ValueError:
        data = bytearray(value.encode())
        data[choose.randrange(len(data))] ^= 1
        return data.decode()
    bit = choose.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    return b64encode(data).decode()


# What may stand where something else should.
_ODD: Any = (None, True, 0, -1, 7, 2**70, 1.5, "", "AA==", "x", [], {}, [[]], [{}], {"a": 1}, "A" * 400)


def misshapen(document: Any, choose: Random) -> Any:
    """The document with one of its parts dropped, cut off, made longer, or replaced by another kind."""
    changed = copy.deepcopy(document)
    *above, last = choose.choice(list(_parts_of(changed)))
    part = changed
    for key in above:
        part = part[key]
    kind = choose.choice(("drop", "cut", "replace"))
    if kind == "drop":
        del part[last]
    elif kind == "cut" and isinstance(part[last], str):
        end = choose.randrange(len(part[last]) + 1)
        part[last] = choose.choice((part[last][: end // 4 * 4], part[last] + part[last][: end // 4 * 4]))
    else:
        part[last] = choose.choice(_ODD)
    return changed


def _parts_of(part: Any, at: TransactionLocation = ()) -> Iterator[TransactionLocation]:
    """Where the parts of a document are, but for the whole of it."""
    if at:
        yield at
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _parts_of(value, (*at, key))
    elif isinstance(part, list):
        for index, value in enumerate(part):
            yield from _parts_of(value, (*at, index))
