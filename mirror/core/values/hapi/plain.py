"""Messages of the network as people read them: ids as 0.0.N, times as seconds, bytes as hex."""

from typing import Any

from mirror.core.values import timestamp
from mirror.core.values.hapi import messages

_NUMBERS = ("accountNum", "contractNum", "fileNum", "tokenNum", "topicNum", "scheduleNum")


def fields(name: str, serialized: bytes) -> Any:
    """Return the fields that a serialized message has. Errors: DecodeError."""
    return _plain(getattr(messages, name).FromString(serialized))


def _plain(message: Any) -> Any:
    present = message.ListFields()
    names = message.DESCRIPTOR.fields_by_name
    number = next((each for each in _NUMBERS if each in names and "shardNum" in names), "")
    if number and all(field.name in (number, "shardNum", "realmNum") for field, _ in present):
        return f"{message.shardNum}.{message.realmNum}.{getattr(message, number)}"
    if message.DESCRIPTOR.name == "Timestamp":
        return timestamp.text(message.seconds * timestamp.NANOS_PER_SECOND + message.nanos)
    return {field.name: _value(field, value) for field, value in present}


def _value(field: Any, value: Any) -> Any:
    if field.is_repeated:
        return [_one(field, each) for each in value]
    return _one(field, value)


def _one(field: Any, value: Any) -> Any:
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if field.enum_type is not None:
        number = field.enum_type.values_by_number.get(value)
        return number.name if number else value
    return value if isinstance(value, str | int | bool | float) else _plain(value)
