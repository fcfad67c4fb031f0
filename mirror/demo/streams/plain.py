"""HAPI messages from plain values: an entity by its number, a time in ns, a key as it is serialized."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from google.protobuf.message import Message

from mirror.core.values.hapi.messages import Key, KeyList
from mirror.demo.streams.record_files import account, timestamp

Fields = Mapping[str, Any]

_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "AccountID": account,
    "Key": Key.FromString,
    "KeyList": KeyList.FromString,
    "Timestamp": timestamp,
}
# Messages that hold one number, in this field.
_NUMBERED = {
    "ContractID": "contractNum",
    "Duration": "seconds",
    "FileID": "fileNum",
    "ScheduleID": "scheduleNum",
    "TokenID": "tokenNum",
    "TopicID": "topicNum",
}


def compose(kind: Any, fields: Fields) -> Any:
    """Return a message of a class; among the values, messages and mappings of their fields are fine, too."""
    return kind(**_converted(kind.DESCRIPTOR, fields))


def serialized(kind: Any, fields: Fields) -> bytes:
    """Return such a message, serialized."""
    content: bytes = compose(kind, fields).SerializeToString()
    return content


def _converted(kind: Any, fields: Fields) -> dict[str, Any]:
    converters = _converters(kind)
    return {name: make(value) if (make := converters[name]) else value for name, value in fields.items()}


@cache
def _converters(kind: Any) -> dict[str, Callable[[Any], Any] | None]:
    return {field.name: _converter(field) for field in kind.fields}


def _converter(field: Any) -> Callable[[Any], Any] | None:
    """Return what makes the value of a field; None if it has no message."""
    kind = field.message_type
    if kind is None:
        return None
    number = "value" if kind.file.package == "google.protobuf" else _NUMBERED.get(kind.name)
    make = (lambda value: {number: value}) if number else _CONVERTERS.get(kind.name)
    one = partial(_message, kind, make)
    return (lambda values: list(map(one, values))) if field.is_repeated else one


def _message(kind: Any, make: Any, value: Any) -> Any:
    if value is None or isinstance(value, Message):
        return value
    return _converted(kind, value) if isinstance(value, Mapping) else make(value)
