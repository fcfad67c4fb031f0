"""Query parameters by the rules of Spring, with which the original serves a part of its endpoints.

They differ from the classic rules in nearly every point.

Unknown names are ignored, but a header of the answer has them; with rest.strictParameters they are reported
before anything else. Names are case-sensitive, operators are not. The first of several single values counts.
A list that is sent once is split at commas. Blank means absent. The first parameter, in order of
declaration, that can't be converted is reported alone: `Failed to convert '<name>'`. Otherwise all broken
constraints are reported together. The endpoint checks what several values of one parameter mean together.
"""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import quote

from mirror.core import config
from mirror.core.db.reading.query import Bounds, Ends
from mirror.core.db.reading.sql import MAX_INT64, Comparison
from mirror.core.rest.answers.errors import BadRequest, InvalidParameter
from mirror.core.rest.parameters import classic, parameter_set
from mirror.core.rest.parameters.entity_ids import NotAnEntityId, read_spring_id
from mirror.core.rest.parameters.parameter_set import WITHOUT_NE, InvalidValue
from mirror.core.rest.parameters.query_string import Texts, spring_query
from mirror.core.values import timestamp

_TIMESTAMP = re.compile(r"([0-9]{1,17})(?:\.([0-9]{1,9}))?")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,10}")
_UNKNOWN = "Unknown query parameter"
_MAX_WARNINGS, _MAX_NAME = 10, 100
# Besides letters and digits, what may stand in a quoted string of a header.
_QUOTABLE = " !#$&'()*+,-./:;<=>?@[]^_`{|}~"
T = TypeVar("T")
_TRUE, _FALSE = ("true", "on", "yes", "1"), ("false", "off", "no", "0")


def split_first(text: str) -> tuple[str, str]:
    """(operator in lower case, value)."""
    head, colon, value = text.partition(":")
    return (head.lower(), value) if colon else ("eq", text)


def read_int32(text: str) -> int:
    """Read a whole number of 32 bits. Errors: InvalidValue."""
    if _WHOLE_NUMBER.fullmatch(text) is None or not -(1 << 31) <= int(text) < 1 << 31:
        raise InvalidValue(text)
    return int(text)


def not_converted(name: str) -> BadRequest:
    return BadRequest(f"Failed to convert '{name}'")


def read_in_path(read: Callable[[str], T], text: str, part: str) -> T:
    """Return what `read` makes of a part of the path. Errors: BadRequest."""
    try:
        return read(text)
    except NotAnEntityId:
        raise not_converted(part) from None


class BrokenConstraints(BadRequest):
    """400 for values that could be converted but break constraints; one text each."""


class Parameter(parameter_set.Parameter[Any]):
    """A parameter of a Spring endpoint. Only lists have operators: a single value is taken as it stands."""

    def comparison(self, text: str, split: Callable[[str], tuple[str, str]]) -> Comparison:
        return super().comparison(text, split) if self.many else Comparison("eq", self.read(text))

    def default_value(self) -> Any:
        return self.absent()

    def violations(self, value: Any) -> list[str]:
        """Return the constraints that the converted value breaks."""
        return []


def split_list(parameter: parameter_set.Parameter[Any], texts: list[str]) -> list[str]:
    """Return the values of a list that may be sent once, with commas between them."""
    return texts[0].split(",") if parameter.many and len(texts) == 1 else texts


def converted(parameter: parameter_set.Parameter[Any], texts: list[str]) -> Any:
    """Return the value of a parameter for its texts in a request. Errors: InvalidValue."""
    texts = [text for text in texts if text.strip()]
    if not texts:
        return parameter.absent()
    if not parameter.many:
        texts = texts[:1]
    return parameter.combined([parameter.comparison(text, split_first) for text in texts])


class ParameterSet(parameter_set.ParameterSet):
    """The parameters of a Spring endpoint, declared in the order in which their problems are reported."""

    split_query = staticmethod(spring_query)

    def __init__(self, texts: Texts, path: str = "") -> None:
        self.unknown = [name for name in texts if name not in self.by_name]
        if self.unknown and config.value("rest.strictParameters"):
            raise BadRequest(*map(self._refusal, self.unknown))
        super().__init__(texts, path)

    def _refusal(self, name: str) -> str:
        nearest = get_close_matches(name.lower(), self.by_name, n=1)
        return f"{_UNKNOWN}: {name}" + (f". The nearest one is {nearest[0]}" if nearest else "")

    def _read(self, sent: Texts) -> None:
        broken: list[str] = []
        for key, parameter in self.declared.items():
            try:
                value = converted(parameter, split_list(parameter, sent.get(parameter.name, [])))
            except InvalidValue:
                raise not_converted(parameter.name) from None
            setattr(self, key, value)
            if isinstance(parameter, Parameter):
                broken += parameter.violations(value)
        if broken:
            raise BrokenConstraints(*broken)


class NoParameters(ParameterSet):
    """No parameters: any is unknown."""


def warning(unknown: Iterable[str]) -> str:
    """Return the header `Warning` for unknown names (RFC 7234), of which it has the first ten, shortened."""
    names = (quote(name, safe=_QUOTABLE)[:_MAX_NAME] for name in islice(unknown, _MAX_WARNINGS))
    return ", ".join(f'199 - "{_UNKNOWN}: {name}"' for name in names)


class ListParameter(Parameter):
    """Up to `most` values, each with an operator. Violations call them `variable`."""

    def __init__(self, name: str, *, variable: str, most: int = 2, **keywords: Any) -> None:
        super().__init__(name, **keywords)
        self.variable, self.most = variable, most

    @property
    def most_values(self) -> int:
        return self.most

    def violations(self, value: list[Comparison]) -> list[str]:
        if len(value) <= self.most:
            return []
        return [f"{self.variable} size must be between 0 and {self.most}"]


class Id(Parameter):
    """An entity id by number."""

    schema = {"type": "string", "pattern": r"^(\d{1,5}\.){0,2}\d{1,12}$"}

    def read(self, text: str) -> int:
        try:
            return read_spring_id(text)
        except NotAnEntityId:
            raise InvalidValue(text) from None


class EntityId(Id, ListParameter):
    """Entity ids by number."""


class Number(ListParameter):
    """Whole numbers that are not negative."""

    schema = {"type": "integer", "format": "int64"}

    def read(self, text: str) -> int:
        return classic.read_number(text)


class Timestamp(ListParameter):
    """Times; the fraction is a number of nanoseconds: 1.5 is five nanoseconds after the first second."""

    schema = {"type": "string", "pattern": r"^\d{1,10}(\.\d{1,9})?$"}

    def __init__(self, name: str = "timestamp", *, variable: str = "timestamp", **keywords: Any) -> None:
        super().__init__(name, variable=variable, operators=WITHOUT_NE, **keywords)

    def read(self, text: str) -> int:
        match = _TIMESTAMP.fullmatch(text)
        if match is None:
            raise InvalidValue(text)
        nanoseconds = int(match[1]) * timestamp.NANOS_PER_SECOND + int(match[2] or 0)
        if nanoseconds > MAX_INT64:
            raise InvalidValue(text)
        return nanoseconds


def time_window(comparisons: Iterable[Comparison]) -> Bounds:
    """Return the range of times: the last bound of each side counts, and a single time means all up to it."""
    return Ends.combine(
        Comparison("lte" if operator == "eq" else operator, at) for operator, at in comparisons
    ).bounds


class Choice(Parameter, classic.Choice):
    """One of some words, in any case; becomes the word in lower case."""

    def __init__(self, name: str, choices: tuple[str, ...], default: str, **keywords: Any) -> None:
        super().__init__(name, {word: word for word in choices}, default, **keywords)

    def default_value(self) -> Any:
        """None where the default is none of the words."""
        return classic.Choice.default_value(self)


class Boolean(Parameter, classic.Boolean):
    """true or false, on or off, yes or no, 1 or 0."""

    def __init__(self, name: str, default: bool, **keywords: Any) -> None:
        super().__init__(name, default, **keywords)
        self.choices = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)


class Order(Parameter, classic.Order):
    """asc or desc."""

    def __init__(self, default: str = "asc") -> None:
        super().__init__(default)


class Limit(Parameter, classic.Limit):
    """The number of rows of a page. More than the configured maximum is an error."""

    by_user = False

    @property
    def schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": "integer", "minimum": 1, "maximum": self.most_rows}

    def read(self, text: str) -> int:
        return read_int32(text)

    def absent(self) -> int:
        return int(config.value(self.default))

    def violations(self, value: int) -> list[str]:
        if value <= 0:
            return ["limit must be greater than 0"]
        return [f"limit must be less than or equal to {self.most_rows}"] if value > self.most_rows else []


# STRICT: network/nodes and network/registered-nodes
#
# They are read like those of the other endpoints, with three differences: all parameters with invalid values
# are reported, by their names alone; a parameter that has a single value may be sent only once; a comma
# separates nothing.


class StrictParameterSet(ParameterSet):
    """The parameters of such an endpoint, declared in the order in which their problems are reported.

    Values that can't be read are reported before those that are out of range.
    """

    def _read(self, sent: Texts) -> None:
        invalid: list[str] = []
        out_of_range: list[str] = []
        for key, parameter in self.declared.items():
            texts = sent.get(parameter.name, [])
            if len(texts) > 1 and not parameter.many:
                raise BadRequest(f"Only a single instance is supported for {parameter.name}")
            try:
                value = converted(parameter, texts)
            except InvalidValue:
                invalid.append(parameter.name)
                continue
            if isinstance(parameter, Parameter) and parameter.violations(value):
                out_of_range.append(parameter.name)
            setattr(self, key, value)
        if invalid or out_of_range:
            raise InvalidParameter(*invalid, *out_of_range)


class CappedLimit(Limit):
    """The number of rows of a page, at least 1. More than the configured maximum becomes the maximum."""

    @property
    def schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": "integer", "minimum": 1}

    def read(self, text: str) -> int:
        return min(super().read(text), self.most_rows)

    def absent(self) -> int:
        return min(super().absent(), self.most_rows)


class StrictId(Number):
    """Ids from 0 on. Bounds that leave none of them are an error, as is `lt:0`."""

    minimum, pages_equal = 0, True


def id_bounds(comparisons: Iterable[Comparison]) -> Bounds:
    """Return the range and the values that comparisons of such ids leave."""
    return Bounds.combine([*comparisons, Comparison("gte", StrictId.minimum)])
