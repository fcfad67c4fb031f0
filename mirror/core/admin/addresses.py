"""Addresses of lists and rows. The key of a row is part of its address: its columns joined by commas.

Entity ids and times are written as people write them, as in
`/admin/ledger/cryptotransfer/1700000000.000000001,0.0.98,5/`. Other numbers are written as they are, bytes in
hex, text quoted as Django's admin quotes it, ranges as `5..9`.
"""

import re
from typing import Any

from django.contrib.admin.utils import unquote
from django.contrib.postgres.fields import BigIntegerRangeField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Field, Q
from django.urls import reverse
from django.utils.html import format_html
from psycopg.types.range import Range

from mirror.core.admin import columns
from mirror.core.admin.kinds.base import InvalidText
from mirror.core.db.reading.sql import MAX_INT64, MIN_INT64
from mirror.core.db.schema.fields import BytesField

_NULL = "null"
_INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)
_RANGE = re.compile(r"(-?\d{1,19})?\.\.(-?\d{1,19})?", re.ASCII)


class NoSuchKey(ValueError):
    """The text is not the key of any row."""


def list_url(model: type[models.Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def row_url(row: models.Model) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[key_text(row)])


def api_link(path: str) -> str:
    return format_html('<a href="/api/v1/{}">/api/v1/{}</a>', path, path)


def key_text(row: models.Model) -> str:
    return ",".join(_text(field, field.value_from_object(row)) for field in row._meta.pk_fields)


def key_condition(model: type[models.Model], text: str) -> Q:
    """Return the condition that finds the row of a key. Errors: NoSuchKey."""
    parts, fields = text.split(","), model._meta.pk_fields
    if len(parts) != len(fields):
        raise NoSuchKey(text)
    condition = Q()
    for field, part in zip(fields, parts, strict=True):
        condition &= _condition(field, part)
    return condition


def _text(field: "Field[Any, Any]", value: Any) -> str:
    return _NULL if value is None else columns.kind(field).key(value)


def _condition(field: "Field[Any, Any]", text: str) -> Q:
    name = field.name
    if text == _NULL and field.null:
        return Q((f"{name}__isnull", True))
    if isinstance(field, BigIntegerRangeField):
        lower, upper = _bounds(text)
        # The lower end alone is in the indexes of the history tables.
        return Q((f"{name}__startswith", lower)) & Q((name, Range(lower, upper)))
    return Q((name, _value(field, text)))


def _value(field: "Field[Any, Any]", text: str) -> Any:
    try:
        if isinstance(field, models.IntegerField):
            # Ids and times are read as people write them, too.
            is_number = _INTEGER.fullmatch(text)
            return _integer(text) if is_number else columns.kind(field).lookup(text)["exact"]
        if isinstance(field, BytesField | models.DateTimeField):
            return field.to_python(unquote(text))
    except (InvalidText, KeyError, ValidationError):
        raise NoSuchKey(text) from None
    if "\0" in text:
        raise NoSuchKey(text)
    return unquote(text)


def _bounds(text: str) -> tuple[int | None, int | None]:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise NoSuchKey(text)
    lower, upper = (None if end is None else _integer(end) for end in match.groups())
    if lower is not None and upper is not None and lower > upper:
        raise NoSuchKey(text)
    return lower, upper


def _integer(text: str) -> int:
    number = int(text)
    if not MIN_INT64 <= number <= MAX_INT64:
        raise NoSuchKey(text)
    return number
