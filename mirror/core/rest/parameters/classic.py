"""Kinds of query parameters of classic endpoints: the accepted texts, and the values that they become."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from mirror.core import config
from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import MAX_INT64, Comparison
from mirror.core.rest.answers.errors import InvalidEntityId, InvalidParameter
from mirror.core.rest.parameters.entity_ids import EvmAddress, NotAnEntityId, read_entity_id
from mirror.core.rest.parameters.parameter_set import (
    ALL,
    ONLY_EQ,
    InvalidValue,
    Parameter,
    ParameterSet,
    split_last,
)
from mirror.core.values import timestamp
from mirror.core.values.hapi import transaction_types
from mirror.core.values.timestamp import InvalidTimestamp

_DIGITS = re.compile(r"[0-9]{1,19}")
_PUBLIC_KEY = re.compile(r"(?:0x)?([0-9a-fA-F]{64}|[0-9a-fA-F]{66}|[0-9a-fA-F]{88})")
# The bytes before the 32 of an Ed25519 key in its DER form (SubjectPublicKeyInfo, RFC 8410).
_ED25519_DER = "302a300506032b6570032100"
_DER_DIGITS = 88
_HEX_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,64}")
_WORD = re.compile(r"(?:0x)?[0-9a-fA-F]{1,64}")
_HASH = re.compile(r"(?:0x)?([0-9a-fA-F]{64}|[0-9a-fA-F]{96})")


def read_number(text: str, low: int = 0, high: int = MAX_INT64) -> int:
    """Read a whole number in decimal digits; leading zeros are allowed. Errors: InvalidValue."""
    if _DIGITS.fullmatch(text) is None or not low <= (number := int(text)) <= high:
        raise InvalidValue(text)
    return number


class Number(Parameter[list[Comparison]]):
    """A whole number from `low` to `high`, both included."""

    schema = {"type": "integer", "format": "int64"}

    def __init__(self, name: str, *, low: int = 0, high: int = MAX_INT64, **keywords: Any) -> None:
        super().__init__(name, **keywords)
        self.low, self.high = low, high

    def read(self, text: str) -> int:
        return read_number(text, self.low, self.high)


class BlockNumber(Number):
    """A block number in decimal digits, or in hex with 0x."""

    def read(self, text: str) -> int:
        if _HEX_NUMBER.fullmatch(text):
            number = int(text, 16)
            if number > self.high:
                raise InvalidValue(text)
            return number
        return super().read(text)


class Word(Parameter[list[Comparison]]):
    """Up to 32 bytes in hex with or without 0x, as the EVM writes numbers; becomes the number."""

    schema = {"type": "string", "pattern": "^(0x)?[0-9a-fA-F]{1,64}$"}

    def read(self, text: str) -> int:
        if _WORD.fullmatch(text) is None:
            raise InvalidValue(text)
        return int(text, 16)


class Hash(Parameter[list[Comparison]]):
    """A hash of 32 or 48 bytes in hex with or without 0x; becomes its digits as they were typed."""

    schema = {"type": "string", "pattern": "^(0x)?([0-9a-fA-F]{64}|[0-9a-fA-F]{96})$"}

    def __init__(self, name: str, **keywords: Any) -> None:
        super().__init__(name, operators=ONLY_EQ, **keywords)

    def read(self, text: str) -> str:
        match = _HASH.fullmatch(text)
        if match is None:
            raise InvalidValue(text)
        return match[1]


class Nonce(Number):
    """A transaction's nonce; the last one counts, None when absent, which means 0."""

    schema = {"type": "integer", "format": "int32", "minimum": 0}
    many = False

    def __init__(self, **keywords: Any) -> None:
        super().__init__(
            "nonce", high=(1 << 31) - 1, operators=ONLY_EQ, help="Nonce of the transaction.", **keywords
        )

    def absent(self) -> int | None:
        return None

    def default_value(self) -> int:
        return 0


class Timestamp(Parameter[list[Comparison]]):
    """Seconds since the epoch, with up to nine fraction digits; becomes nanoseconds."""

    schema = {"type": "string", "pattern": r"^\d{1,10}(\.\d{1,9})?$"}

    def read(self, text: str) -> int:
        try:
            return timestamp.parse(text)
        except InvalidTimestamp:
            raise InvalidValue(text) from None


class EntityId(Parameter[list[Comparison]]):
    """An entity id in any form; becomes the encoded id.

    An EVM address that is not long-zero is accepted but not looked up, and matches nothing.
    """

    schema = {
        "type": "string",
        "pattern": r"^((\d{1,5}\.){0,2}(\d{1,12}|[0-9a-fA-F]{40})|0x[0-9a-fA-F]{40})$",
    }

    #: What `Invalid parameter` names for an id out of range; None if the error names the id.
    out_of_range: ClassVar[str | None] = None

    def read(self, text: str) -> Any:
        try:
            return self.value_of(text)
        except NotAnEntityId:
            raise InvalidValue(text) from None
        except InvalidEntityId:
            if self.out_of_range is None:
                raise
            raise InvalidParameter(self.out_of_range) from None

    def value_of(self, text: str) -> Any:
        """Return the value of a text. Errors: NotAnEntityId, InvalidEntityId."""
        entity = read_entity_id(text)
        return None if isinstance(entity, EvmAddress) else entity


class PublicKey(Parameter[list[Comparison]]):
    """A public key in hex: Ed25519 raw or in DER, or ECDSA compressed; becomes the text of the raw key.

    Texts are compared as entity.public_key sorts.
    """

    schema = {"type": "string", "pattern": "^(0x)?([0-9a-fA-F]{64}|[0-9a-fA-F]{66}|[0-9a-fA-F]{88})$"}

    def read(self, text: str) -> str:
        match = _PUBLIC_KEY.fullmatch(text)
        if match is None:
            raise InvalidValue(text)
        digits = match[1].lower()
        return digits.removeprefix(_ED25519_DER) if len(digits) == _DER_DIGITS else digits


class TokenId(EntityId):
    """A token's id in any form. Tokens have no EVM address but the long-zero one."""

    def value_of(self, text: str) -> int:
        token_id = super().value_of(text)
        if token_id is None:
            raise NotAnEntityId(text)
        return int(token_id)


class Choice(Parameter[Any]):
    """One of some words in any case; becomes what the word stands for. The last one counts."""

    many = False

    def __init__(self, name: str, choices: dict[str, Any], default: Any = None, **keywords: Any) -> None:
        super().__init__(name, **keywords)
        self.choices, self.default = choices, default

    @property
    def schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": "string", "enum": list(self.choices)}

    def read(self, text: str) -> Any:
        try:
            return self.choices[text.lower()]
        except KeyError:
            raise InvalidValue(text) from None

    def absent(self) -> Any:
        return self.default

    def default_value(self) -> Any:
        return next((word for word, meaning in self.choices.items() if meaning == self.default), None)


class Choices(Choice):
    """The same for a parameter whose values all count; becomes a list of what the words stand for."""

    many = True

    def absent(self) -> Any:
        return []

    def combined(self, comparisons: list[Comparison]) -> Any:
        return [comparison.value for comparison in comparisons]


class Boolean(Choice):
    """true or false, in any case."""

    schema = {"type": "boolean"}

    def __init__(self, name: str, default: bool | None = None, **keywords: Any) -> None:
        super().__init__(name, {"true": True, "false": False}, default, operators=ONLY_EQ, **keywords)

    def default_value(self) -> Any:
        return self.default


class TransactionType(Choices):
    """Names of transaction types in any case; becomes their numbers."""

    def __init__(self) -> None:
        numbers = transaction_types.NUMBERS | transaction_types.OLD_NAMES
        choices = {name.lower(): number for name, number in numbers.items()}
        super().__init__("transactiontype", choices, help="Only transactions of these types.")


class Result(Choice):
    """success or fail; becomes whether the transactions succeeded, None for both."""

    def __init__(self) -> None:
        super().__init__(
            "result", {"success": True, "fail": False}, help="Only successful, or only failed transactions."
        )


class Order(Choice):
    """asc or desc."""

    def __init__(self, default: str) -> None:
        super().__init__("order", {"asc": "asc", "desc": "desc"}, default, help="The order of the rows.")

    def filter(self, query: Query, value: str) -> Query:  # type: ignore[override]
        return Query(query.where, value == "desc", query.limit)


class Limit(Parameter[int]):
    """The number of rows of a page, at least 1. More than the configured maximum becomes the maximum."""

    schema = {"type": "integer", "minimum": 1}
    many: ClassVar[bool] = False
    #: Whether a user may have another maximum.
    by_user: ClassVar[bool] = True

    def __init__(
        self, default: str = "rest.response.limit.default", most: str = "rest.response.limit.max"
    ) -> None:
        super().__init__("limit", operators=ALL, help="The number of rows of a page.")
        self.default, self.most = default, most

    def read(self, text: str) -> int:
        return min(read_number(text, 1), self.most_rows)

    def absent(self) -> int:
        return min(int(config.value(self.default)), self.most_rows)

    @property
    def most_rows(self) -> int:
        return int(config.value(self.most))

    def up_to(self, most: int, texts: Sequence[str]) -> int:
        """Return the limit that checked texts have, but at most this one."""
        return min(read_number(split_last(texts[-1])[1]) if texts else config.value(self.default), most)

    def filter(self, query: Query, value: int) -> Query:  # type: ignore[override]
        return Query(query.where, query.descending, value)


class PageParameters(ParameterSet):
    """The parameters of a list: the length of a page, and the order of rows, newest or last first."""

    limit = Limit()
    order = Order("desc")
