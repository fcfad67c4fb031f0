"""The columns of a table: their kinds, their headings, and which of them an index finds."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import Any

from django.contrib.postgres.fields import ArrayField, BigIntegerRangeField
from django.db import models
from django.db.models import F, Field
from django.db.models.expressions import OrderBy

from mirror.core.admin.kinds.amounts import CustomFees, Length, Named, TokenAmount
from mirror.core.admin.kinds.base import ArrayKind, Boolean, Choice, Json, Kind, Text
from mirror.core.admin.kinds.bytes import (
    Alias,
    AmountBytes,
    ErrorText,
    Hash,
    Hex,
    HexText,
    Key,
    Message,
    Output,
    TextBytes,
    Word,
)
from mirror.core.admin.kinds.numbers import Code, Entity, EnumKind, Hbar, InnerTransactions, Number, Result
from mirror.core.admin.kinds.times import DateTime, Day, Milliseconds, RangeKind, Time
from mirror.core.db.schema import fields, indexes
from mirror.core.db.schema.tables import KeylessTable
from mirror.core.values.hapi import result_codes, transaction_types

ENTITY, TOKEN, NUMBER = Entity(), Entity("tokens_token"), Number()
TIME, OF_BLOCK = Time(), Time("ledger_recordfile")

_KINDS: dict[Any, Kind] = {
    fields.NumberField: NUMBER,
    fields.TokenAmountField: TokenAmount(),
    fields.SecondsField: Length("seconds", 1),
    fields.MinutesField: Length("minutes", 60),
    fields.TinybarField: Hbar(),
    fields.EntityIdField: ENTITY,
    fields.TokenIdField: TOKEN,
    fields.ScheduleIdField: Entity("ledger_schedule"),
    fields.NanosTimestampField: TIME,
    fields.ConsensusTimestampField: Time("ledger_transaction"),
    fields.BlockTimestampField: OF_BLOCK,
    fields.SnapshotTimestampField: Time("ledger_accountbalancefile"),
    fields.AddressBookTimestampField: Time("network_addressbook"),
    fields.MillisecondsField: Milliseconds(),
    fields.EpochDayField: Day(),
    fields.TransactionTypeField: EnumKind(transaction_types.name, transaction_types.NAMES, "CRYPTOTRANSFER"),
    fields.TransactionResultField: Result(result_codes.name, result_codes.NAMES, "SUCCESS"),
    fields.HexField: HexText(),
    fields.BytesField: Hex(),
    fields.HashField: Hash(),
    fields.AmountBytesField: AmountBytes(),
    fields.KeyField: Key(),
    fields.WordField: Word(),
    fields.OutputField: Output(),
    fields.ErrorTextField: ErrorText(),
    fields.AliasField: Alias(),
    fields.TextBytesField: TextBytes(),
    fields.CustomFeesField: CustomFees(),
    fields.NanosTimestampRangeField: RangeKind(TIME),
    fields.ValidityField: RangeKind(Time("ledger_transaction")),
    fields.InnerTransactionsField: InnerTransactions(),
    BigIntegerRangeField: RangeKind(NUMBER),
    models.IntegerField: Code(),
    models.BooleanField: Boolean(),
    models.JSONField: Json(),
    models.DateTimeField: DateTime(),
    models.CharField: Text(),
    models.TextField: Text(),
}
"""The kind of each class of field, and of those derived from it."""

_ACRONYMS = frozenset({"evm", "hapi", "ip", "kyc", "nft", "utc"})


@cache
def kind(field: "Field[Any, Any]") -> Kind:
    names = getattr(field, "value_names", None)
    return Named(_kind(field), names) if names else _kind(field)


def _kind(field: "Field[Any, Any]") -> Kind:
    if isinstance(field, fields.MessageField):
        return Message(field.message)
    if isinstance(field, fields.EnumField):
        return Choice(tuple(value for value, _ in field.choices or ()))
    if type(field) is ArrayField:
        return ArrayKind(kind(field.base_field))
    return next(_KINDS[cls] for cls in type(field).__mro__ if cls in _KINDS)


def rank(field: "Field[Any, Any]") -> int:
    """Return the place of a column on the page of a row: what, who, when, how much, then others."""
    groups = (EnumKind, Choice, Text, TextBytes), (Entity,), (Time, RangeKind, DateTime), (Hbar, TokenAmount)
    return next((place for place, group in enumerate(groups) if isinstance(kind(field), group)), len(groups))


def label(field: "Field[Any, Any]") -> str:
    """Return the heading of a column: its name in words; an entity id's omits the word id."""
    words = str(field.verbose_name).split()
    if len(words) > 1 and words[-1] == "id" and isinstance(kind(field), Entity):
        words.pop()
    text = " ".join(word.upper() if word in _ACRONYMS else word for word in words)
    return text[0].upper() + text[1:]


def kinds(model: type[models.Model], names: Sequence[str] = ()) -> dict[str, Kind]:
    """Return the kinds of these columns, or of all."""
    of_table = (field for field in model._meta.concrete_fields if field.column)
    return {field.name: kind(field) for field in of_table if not names or field.name in names}


def kind_of(model: type[models.Model], column: str) -> Kind:
    return kind(model._meta.get_field(column))


@cache
def ordered_indexes(model: type[models.Model]) -> tuple[tuple[str, ...], ...]:
    """Return the columns of each index that finds rows by its first columns; the key comes first."""
    btrees = [] if issubclass(model, KeylessTable) else [key_columns(model)]
    # An expression ends what a comparison of columns can use.
    btrees += [
        tuple(takewhile(lambda name: name.isidentifier() and "__" not in name, _names(parts)))
        for parts, _ in _parts(model)
    ]
    return tuple(columns for columns in btrees if columns)


def key_columns(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(field.name for field in model._meta.pk_fields)


def has_composite_key(model: type[models.Model]) -> bool:
    """Return whether the key has several columns, also where it is for Django alone."""
    return issubclass(model, KeylessTable) or len(model._meta.pk_fields) > 1


def leading(model: type[models.Model]) -> tuple[str, ...]:
    """Return the columns that find rows by themselves."""
    return tuple(dict.fromkeys(columns[0] for columns in ordered_indexes(model)))


def indexed(model: type[models.Model]) -> tuple[str, ...]:
    """Return the columns that find rows, by themselves or together with a leading one."""
    return tuple(dict.fromkeys(name for columns in ordered_indexes(model) for name in columns))


def order(model: type[models.Model]) -> tuple[str, ...]:
    """Return an order of all rows, last first, that an index delivers; nothing where no index has an order.

    The rest of the key orders the rows that the index does not tell apart.
    """
    if not issubclass(model, KeylessTable):
        names = key_columns(model)
    else:
        names = next((_names(parts) for parts, partial in _parts(model) if not partial), ())
        if names:
            names += tuple(
                name for name in key_columns(model) if name not in names and name != "timestamp_range"
            )
    return tuple(f"-{name}" for name in names)


def _parts(model: type[models.Model]) -> Iterator[tuple[Sequence[Any], bool]]:
    """Yield the columns and expressions of each ordered index, and whether the index leaves out rows.

    A unique constraint is an index too.
    """
    for index in model._meta.indexes:
        if isinstance(index, indexes.Index):
            yield index.fields or index.expressions, index.condition is not None
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.UniqueConstraint):
            yield constraint.fields or constraint.expressions, constraint.condition is not None


def _names(parts: Sequence[Any]) -> tuple[str, ...]:
    return tuple(_name(part) for part in parts)


def _name(part: Any) -> str:
    if isinstance(part, OrderBy):
        part = part.expression
    return str(part.name if isinstance(part, F) else part).lstrip("-")  # type: ignore[attr-defined]
