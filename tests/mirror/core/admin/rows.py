"""One row of any table, with a value in each column that the kind of the column can show."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField, BigIntegerRangeField
from django.db import models
from psycopg.types.range import Range

from mirror.core.admin import columns
from mirror.core.admin.kinds.bytes import HexText, Key
from mirror.core.admin.kinds.numbers import Entity, EnumKind
from mirror.core.admin.kinds.times import Milliseconds, Time
from mirror.core.db.schema.fields import BytesField, EnumField
from tests.build import SECOND, START

APPS = ("ledger", "contracts", "tokens", "network")
MODELS = [model for app in APPS for model in apps.get_app_config(app).get_models()]


def of_each_kind(columns_of: Callable[[Any], Iterable[str]]) -> list[Any]:
    """Return some tables, whose columns among these are of all kinds that such columns of any table have."""
    seen, chosen = set[type[Any]](), []
    for model in MODELS:
        kinds = {type(columns.kind_of(model, name)) for name in columns_of(model)}
        if kinds - seen:
            chosen.append(model)
            seen |= kinds
    return chosen


def model_name(model: type[models.Model]) -> str:
    return model._meta.db_table


def row(model: type[models.Model], *, with_nulls: bool = False, **given: Any) -> models.Model:
    values = {
        field.name: None if with_nulls and field.null else _value(field)
        for field in model._meta.concrete_fields
        if field.column is not None
    }
    return model._base_manager.create(**values | given)


def _value(field: Any) -> Any:
    kind = columns.kind(field)
    if isinstance(field, EnumField):
        return columns.kind(field).choices[0]  # type: ignore[attr-defined]
    if isinstance(field, BytesField):
        return bytes.fromhex("1220") + bytes(range(32)) if isinstance(kind, Key) else b"\x00\xffhash" * 3
    if isinstance(field, BigIntegerRangeField):
        return Range(START, START + SECOND)
    if isinstance(field, ArrayField):
        if isinstance(field.base_field, BytesField):
            return [b"\x01", b""]
        return [1001, START] if isinstance(field.base_field, models.BigIntegerField) else [1, 2]
    if isinstance(field, models.JSONField):
        return [{"token_id": 5005, "serial_number": 1, "receiver_account_id": 1002, "is_approval": False}]
    if isinstance(field, models.DateTimeField):
        return datetime(2023, 11, 14, tzinfo=UTC)
    if isinstance(field, models.BooleanField):
        return True
    if isinstance(kind, HexText):
        return "ab12cd34" * 8
    if isinstance(field, models.CharField | models.TextField):
        return "1,0.0/2"
    if isinstance(kind, Time):
        return START + 1
    if isinstance(kind, Milliseconds):
        return START // 1_000_000
    if isinstance(kind, Entity):
        return 1001
    return 14 if isinstance(kind, EnumKind) else 7
