"""Columns whose PostgreSQL type Django has no field for: domains, enums, and bytes with a readable text form.

Values are plain: int for the domains, str for enums, bytes for bytea. Ranges and arrays are Django's own
(`BigIntegerRangeField` is int8range and reads as `psycopg.types.range.Range`).
"""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


# Django's fields take their type arguments from the type checker only, so a base can't be given any.
class _DomainField(models.BigIntegerField):  # type: ignore[type-arg]
    """A bigint under the name of a domain."""

    domain = ""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return self.domain


class NanosTimestampField(_DomainField):
    """Nanoseconds since the epoch, as domain nanos_timestamp."""

    domain = "nanos_timestamp"


class EntityIdField(_DomainField):
    """An entity id in its 64 bit form (`mirror.values.entity_id`), as domain entity_id."""

    domain = "entity_id"


class TinybarField(_DomainField):
    """An amount of tinybars, as domain hbar_tinybars; in some tables the name of an amount of tokens too."""

    domain = "hbar_tinybars"


class EnumField(models.CharField):  # type: ignore[type-arg]
    """A PostgreSQL enum type, made by the migration that first uses it.

    `choices` belongs to the model alone: what the database accepts is decided by its type.
    """

    def __init__(self, enum: str, **options: Any) -> None:
        self.enum = enum
        super().__init__(**options)

    def deconstruct(self) -> Any:
        name, path, args, options = super().deconstruct()
        options.pop("choices", None)
        return name, path, [self.enum, *args], options

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return self.enum


class BytesField(models.BinaryField):  # type: ignore[type-arg]
    """bytea. As text (in an admin address, in a serialized key) it is hex without a prefix."""

    def value_to_string(self, obj: models.Model) -> str:
        value = self.value_from_object(obj)
        return "" if value is None else bytes(value).hex()

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str):
            try:
                return bytes.fromhex(value)
            except ValueError:
                raise ValidationError(f"{value!r} is not hex: two digits 0-9 or a-f per byte.") from None
        return value


@EntityIdField.register_lookup
class NotEqual(models.Lookup):
    """`entity_id__ne`: the operator <>, which an index predicate has where ~Q would say NOT (... = ...)."""

    lookup_name = "ne"

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        left, left_parameters = self.process_lhs(compiler, connection)
        right, right_parameters = self.process_rhs(compiler, connection)
        return f"{left} <> {right}", (*left_parameters, *right_parameters)
