"""Addresses of lists and rows.

A row's address has the columns of its key, as people write them, quoted as Django's admin quotes them and
joined by commas: `/admin/ledger/cryptotransfer/1700000000.000000001,0.0.98,5/`.
"""

from typing import Any

from django.contrib.admin.utils import quote, unquote
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.html import format_html

from mirror.core.admin import columns
from mirror.core.admin.kinds.base import InvalidText
from mirror.core.admin.lists import matching

_NULL = "null"


def list_url(model: type[models.Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def row_url(row: models.Model) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[key_text(row)])


def api_link(path: str) -> str:
    return format_html('<a href="/api/v1/{}">/api/v1/{}</a>', path, path)


def key_text(row: models.Model) -> str:
    pairs = [(columns.kind(field), field.value_from_object(row)) for field in row._meta.pk_fields]
    return ",".join(_NULL if value is None else quote(kind.text(value)) for kind, value in pairs)


def key_condition(model: type[models.Model], text: str) -> Q:
    """Return the condition that finds the row of a key. Errors: InvalidText."""
    parts, fields = text.split(","), model._meta.pk_fields
    if len(parts) != len(fields):
        raise InvalidText(text)
    condition = Q()
    for field, part in zip(fields, parts, strict=True):
        condition &= _condition(field, part)
    return condition


def _condition(field: Any, part: str) -> Q:
    if part == _NULL and field.null:
        return Q((f"{field.name}__isnull", True))
    return matching(field.name, columns.kind(field), unquote(part))
