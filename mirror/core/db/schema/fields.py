"""Fields whose class says what a column holds: an entity id, a time, an amount, a key.

The class decides how people read and write the values (`mirror.core.admin.columns`). Migrations need only the
type of the column, so there a field goes by the name of a class that has no other meaning: Django's own, or
`Int8Field`, `EnumField` and `BytesField`. Values are plain: int for whole numbers and domains, str for enums,
bytes for bytea. Ranges read as `psycopg.types.range.Range`.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.contrib.postgres.fields import ArrayField, BigIntegerRangeField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

# Django's fields take their type arguments from the type checker only, so a base can't be given any.

AnyField = TypeVar("AnyField", bound="models.Field[Any, Any]")


def named(field: AnyField, names: Mapping[int, str]) -> AnyField:
    """Return a field some of whose numbers have a name, such as 0 for infinite: the admin shows it."""
    field.value_names = names  # type: ignore[attr-defined]
    return field


# WHOLE NUMBERS


class Int8Field(models.BigIntegerField):  # type: ignore[type-arg]
    """A bigint, under the name of a domain where `domain` says so."""

    def __init__(self, *args: Any, domain: str = "", **options: Any) -> None:
        self.domain = domain
        super().__init__(*args, **options)

    def deconstruct(self) -> Any:
        name, _, args, options = super().deconstruct()
        if self.domain:
            return name, "mirror.core.db.schema.fields.Int8Field", args, options | {"domain": self.domain}
        return name, "django.db.models.BigIntegerField", args, options

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return self.domain or super().db_type(connection)


class NumberField(Int8Field):
    """How many, how much or how long: no identifier."""


class TokenAmountField(NumberField):
    """An amount in the smallest unit of the token in the column `token_id`, without one in tinybars."""


class SecondsField(NumberField):
    """A length of time in seconds."""


class MinutesField(NumberField):
    """A length of time in minutes."""


class IdentifierField(Int8Field):
    """A number that tells one thing from others and is no entity id, such as a node's."""


class TinybarField(Int8Field):
    """An amount of tinybars."""


class EntityIdField(Int8Field):
    """An entity id in its 64-bit form (`mirror.core.values.entity_id`)."""


class TokenIdField(EntityIdField):
    """The entity id of a token."""


class ScheduleIdField(EntityIdField):
    """The entity id of a schedule."""


class NanosTimestampField(Int8Field):
    """Nanoseconds since the epoch."""


class ConsensusTimestampField(NanosTimestampField):
    """The consensus timestamp of a transaction."""


class BlockTimestampField(NanosTimestampField):
    """The end of a block, which is the key of record_file."""


class SnapshotTimestampField(NanosTimestampField):
    """The time of a balance snapshot, which is the key of account_balance_file."""


class AddressBookTimestampField(NanosTimestampField):
    """The time from which an address book is valid, which is the key of address_book."""


class MillisecondsField(Int8Field):
    """Milliseconds since the epoch."""


class EpochDayField(Int8Field):
    """Days since the epoch; -1 stands for none."""


class _Meaning:
    """A mixin for fields that differ from another class in meaning alone: migrations name that class."""

    migrated_as = ""

    def deconstruct(self) -> Any:
        name, _, args, options = super().deconstruct()  # type: ignore[misc]
        return name, self.migrated_as, args, options


class TransactionTypeField(_Meaning, models.SmallIntegerField):  # type: ignore[type-arg]
    """A transaction type by its number (`mirror.core.values.hapi.transaction_types`)."""

    migrated_as = "django.db.models.SmallIntegerField"


class TransactionResultField(_Meaning, models.SmallIntegerField):  # type: ignore[type-arg]
    """A response code by its number (`mirror.core.values.hapi.result_codes`)."""

    migrated_as = "django.db.models.SmallIntegerField"


# TEXT AND BYTES


class EnumField(models.CharField):  # type: ignore[type-arg]
    """A PostgreSQL enum type, which decides what the database accepts; `choices` are the model's alone."""

    def __init__(self, enum: str, **options: Any) -> None:
        self.enum = enum
        super().__init__(**options)

    def deconstruct(self) -> Any:
        name, path, args, options = super().deconstruct()
        options.pop("choices", None)
        return name, path, [self.enum, *args], options

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return self.enum


class HexField(_Meaning, models.CharField):  # type: ignore[type-arg]
    """Bytes stored as lower-case hex."""

    migrated_as = "django.db.models.CharField"


class BytesField(_Meaning, models.BinaryField):  # type: ignore[type-arg]
    """bytea. As text (in an admin address, in a serialized key) it is hex without a prefix."""

    migrated_as = "mirror.core.db.schema.fields.BytesField"

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


class HashField(BytesField):
    """A hash."""


class AmountBytesField(BytesField):
    """An amount of any size as a big-endian number."""


class KeyField(BytesField):
    """A key as the network serializes it (`mirror.core.values.keys`)."""


class AliasField(BytesField):
    """An account's alias (`mirror.core.values.alias`)."""


class WordField(BytesField):
    """A word of the EVM, such as a topic or a slot: 32 bytes, without the zeros that it begins with."""


class OutputField(BytesField):
    """What code returned or reverted with: an error if it begins with a selector."""


class ErrorTextField(_Meaning, models.TextField):  # type: ignore[type-arg]
    """The name of an error, or in hex what code reverted with."""

    migrated_as = "django.db.models.TextField"


class MessageField(BytesField):
    """A serialized protobuf message of the network: `message` names its class."""

    def __init__(self, message: str = "", **options: Any) -> None:
        self.message = message
        super().__init__(**options)


class TextBytesField(BytesField):
    """Bytes that people usually mean as text, such as a memo; they need not be valid UTF-8."""


# JSON, RANGES AND ARRAYS


class CustomFeesField(_Meaning, models.JSONField):
    """A list of custom fees (`mirror.core.values.hapi.custom_fees`) of the entity in `entity_id`."""

    migrated_as = "django.db.models.JSONField"


class NanosTimestampRangeField(_Meaning, BigIntegerRangeField):
    """From one time up to, but without, another; both in nanoseconds since the epoch."""

    migrated_as = "django.contrib.postgres.fields.ranges.BigIntegerRangeField"


class ValidityField(NanosTimestampRangeField):
    """When a version of a row was valid: from the transaction that wrote it to the one that replaced it."""


class InnerTransactionsField(_Meaning, ArrayField):  # type: ignore[type-arg]
    """The transactions of a batch, as flat pairs of payer and valid start."""

    migrated_as = "django.contrib.postgres.fields.ArrayField"


@models.BooleanField.register_lookup
class IsLookup(models.Lookup):
    """`deleted__is=False`: the test IS FALSE, which an index predicate has where `=` would say NOT."""

    lookup_name = "is"

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        left, parameters = self.process_lhs(compiler, connection)
        return f"{left} IS {'TRUE' if self.rhs else 'FALSE'}", tuple(parameters)


@Int8Field.register_lookup
class NotEqual(models.Lookup):
    """`entity_id__ne`: the operator <>, which an index predicate has where ~Q would say NOT (... = ...)."""

    lookup_name = "ne"

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        left, left_parameters = self.process_lhs(compiler, connection)
        right, right_parameters = self.process_rhs(compiler, connection)
        return f"{left} <> {right}", (*left_parameters, *right_parameters)
