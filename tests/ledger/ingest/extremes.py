"""Messages with one field at an extreme, for every field there is: made from the protobuf descriptors, so
that a field that comes with a new HAPI version is among them.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from google.protobuf import message_factory

# What a field holds that is not at an extreme: ids of entities that exist, by their message.
NUMBERS = {
    "AccountID": 1001,
    "ContractID": 2001,
    "TokenID": 3001,
    "TopicID": 4001,
    "FileID": 5001,
    "ScheduleID": 6001,
}
TYPICAL_NUMBER, TYPICAL_BYTES, TYPICAL_TEXT = 1, b"\x11" * 20, "text"

# Stored as they are: one of each kind of content is enough.
OPAQUE = {"Key", "KeyList", "ThresholdKey", "SchedulableTransactionBody"}
MAX_DEPTH = 8

LARGE = 10_000
_BIG_ID = 1 << 38

_DOUBLE, _FLOAT, _INT64, _UINT64, _INT32, _FIXED64, _FIXED32, _BOOL = 1, 2, 3, 4, 5, 6, 7, 8
_STRING, _MESSAGE, _BYTES, _UINT32, _ENUM, _SINT32, _SINT64 = 9, 11, 12, 13, 14, 17, 18
_SIGNED_64 = [0, -1, _BIG_ID, (1 << 63) - 1, -(1 << 63)]
_UNSIGNED_64 = [0, _BIG_ID, (1 << 63) - 1, (1 << 64) - 1]
_SIGNED_32 = [0, -1, (1 << 31) - 1, -(1 << 31)]
_UNSIGNED_32 = [0, (1 << 31) - 1, (1 << 32) - 1]
_VALUES: dict[int, list[Any]] = {
    _INT64: _SIGNED_64,
    _SINT64: _SIGNED_64,
    _UINT64: _UNSIGNED_64,
    _FIXED64: _UNSIGNED_64,
    _INT32: _SIGNED_32,
    _SINT32: _SIGNED_32,
    _UINT32: _UNSIGNED_32,
    _FIXED32: _UNSIGNED_32,
    _ENUM: [0, -1, 1, 1000],
    _BOOL: [False, True],
    _STRING: ["", "x" * LARGE, "\0", "a\0b\N{ROCKET}"],
    _BYTES: [b"", b"\xff" * LARGE, bytes(20), b"\xff" * 32, b"\0"],
    _DOUBLE: [0.0, -1.0],
    _FLOAT: [0.0, -1.0],
}
_TYPICAL: dict[int, Any] = {_STRING: TYPICAL_TEXT, _BYTES: TYPICAL_BYTES, _BOOL: True}


@cache
def typical(descriptor: Any, without: frozenset[str] = frozenset(), depth: int = 0) -> Any:
    """A message all of whose fields are set; of a oneof the first one. All callers share it, and copy it."""
    message = _class(descriptor)()
    for field in descriptor.fields:
        if field.name in without or (
            field.containing_oneof and field.containing_oneof.fields[0] is not field
        ):
            continue
        _set(message, field, _typical_value(field, depth))
    return message


def variants(
    descriptor: Any, without: frozenset[str] = frozenset(), depth: int = 0
) -> Iterator[tuple[str, Any]]:
    """(what, message): typical messages with one field at an extreme, or with another of a oneof."""
    for field in descriptor.fields:
        if field.name in without or depth > MAX_DEPTH:
            continue
        for what, value in _values(field, depth):
            message = _class(descriptor)()
            message.CopyFrom(typical(descriptor, without, depth))
            _set(message, field, value)
            yield f"{field.name}{what}", message


def _values(field: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield named values for a field: None when it is missing, lists for a repeated one."""
    yield " missing", None
    repeated = _is_repeated(field)
    if field.type == _MESSAGE:
        kind = field.message_type
        yield " empty", [_class(kind)()] * 2 if repeated else _class(kind)()
        if field.containing_oneof:
            yield "", _typical_value(field, depth)
        if kind.name not in OPAQUE:
            for what, message in variants(kind, depth=depth + 1):
                yield f".{what}", [message, message] if repeated else message
        return
    for value in _VALUES[field.type]:
        what = f"={len(value)}*{value[:1]!r}" if isinstance(value, str | bytes) else f"={value}"
        yield what, [value, value] if repeated else value


def _typical_value(field: Any, depth: int) -> Any:
    if field.type == _MESSAGE:
        if depth > MAX_DEPTH or (field.message_type.name in OPAQUE and depth > 3):
            return None
        without = frozenset[str]()
        if field.message_type.name == "SchedulableTransactionBody":
            without = frozenset(each.name for each in field.message_type.fields)
        message = typical(field.message_type, without, depth + 1)
        return [message] if _is_repeated(field) else message
    value = _TYPICAL.get(field.type, TYPICAL_NUMBER)
    if field.name.endswith("Num") and field.name not in ("shardNum", "realmNum"):
        value = NUMBERS.get(field.containing_type.name, value)
    elif field.name in ("shardNum", "realmNum"):
        value = 0
    return [value] if _is_repeated(field) else value


def _set(message: Any, field: Any, value: Any) -> None:
    message.ClearField(field.name)
    if value is None:
        return
    if _is_repeated(field):
        getattr(message, field.name).extend(value)
    elif field.type == _MESSAGE:
        target = getattr(message, field.name)
        target.SetInParent()
        target.CopyFrom(value)
    else:
        setattr(message, field.name, value)


def _is_repeated(field: Any) -> bool:
    return bool(field.is_repeated)


def _class(descriptor: Any) -> Any:
    return message_factory.GetMessageClass(descriptor)
