"""Query parameters by the rules of Spring, which the original serves its newer endpoints with.

They differ from the classic rules in nearly every point.

Unknown names are ignored. Names are case-sensitive, operators are not. The first of several single values
counts. A list that is sent once is split at commas. Blank means absent. The first parameter, in order of
declaration, that can't be converted is reported alone: `Failed to convert '<name>'`. Otherwise all broken
constraints are reported together. The endpoint checks what several values of one parameter mean together.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

from mirror.core import config
from mirror.core.db.reading.sql import MAX_INT64, Comparison
from mirror.core.db.sql.bounds import Bounds, Ends
from mirror.core.db.sql.query import Query
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.parameters.entity_ids import NotAnEntityId, read_spring_id
from mirror.core.rest.parameters.parameter_set import (
    ALL,
    ONLY_EQ,
    WITHOUT_NE,
    InvalidValue,
    Parameter,
    ParameterSet,
)
from mirror.core.rest.parameters.query_string import Texts, spring_query
from mirror.core.rest.parameters.types import read_number
from mirror.core.values import timestamp

_TIMESTAMP = re.compile(r"([0-9]{1,17})(?:\.([0-9]{1,9}))?")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,10}")
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


def read_spring_in_path(read: Callable[[str], T], text: str, part: str) -> T:
    """Return what `read` makes of a part of the path. Errors: BadRequest."""
    try:
        return read(text)
    except NotAnEntityId:
        raise not_converted(part) from None


class BrokenConstraints(BadRequest):
    """400 for values that could be converted but break constraints; one text each."""


class SpringParameter(Parameter[Any]):
    """A parameter of a Spring endpoint. Only lists have operators: a single value is taken as it stands."""

    def comparison(self, text: str, split: Callable[[str], tuple[str, str]]) -> Comparison:
        return super().comparison(text, split) if self.many else Comparison("eq", self.read(text))

    def violations(self, value: Any) -> list[str]:
        """Return the constraints that the converted value breaks."""
        return []


def split_list(parameter: Parameter[Any], texts: list[str]) -> list[str]:
    """Return the values of a list that may be sent once, with commas between them."""
    return texts[0].split(",") if parameter.many and len(texts) == 1 else texts


def converted(parameter: Parameter[Any], texts: list[str]) -> Any:
    """Return the value of a parameter for its texts in a request. Errors: InvalidValue."""
    texts = [text for text in texts if text.strip()]
    if not texts:
        return parameter.absent()
    if not parameter.many:
        texts = texts[:1]
    return parameter.combined([parameter.comparison(text, split_first) for text in texts])


class SpringParameterSet(ParameterSet):
    """The parameters of a Spring endpoint, declared in the order in which their problems are reported."""

    split_query = staticmethod(spring_query)

    def _read(self, sent: Texts) -> None:
        broken: list[str] = []
        for key, parameter in self.declared.items():
            try:
                value = converted(parameter, split_list(parameter, sent.get(parameter.name, [])))
            except InvalidValue:
                raise not_converted(parameter.name) from None
            setattr(self, key, value)
            if isinstance(parameter, SpringParameter):
                broken += parameter.violations(value)
        if broken:
            raise BrokenConstraints(*broken)


class SpringListParameter(SpringParameter):
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


class SpringIdParameter(SpringParameter):
    """An entity id by number."""

    schema = {"type": "string", "pattern": r"^(\d{1,5}\.){0,2}\d{1,12}$"}

    def read(self, text: str) -> int:
        try:
            return read_spring_id(text)
        except NotAnEntityId:
            raise InvalidValue(text) from None


class SpringEntityIdParameter(SpringIdParameter, SpringListParameter):
    """Entity ids by number."""


class SpringNumberParameter(SpringListParameter):
    """Whole numbers that are not negative."""

    schema = {"type": "integer", "format": "int64"}

    def read(self, text: str) -> int:
        return read_number(text)


class SpringTimestampParameter(SpringListParameter):
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
    return Ends.of(
        Comparison("lte" if operator == "eq" else operator, at) for operator, at in comparisons
    ).bounds


class SpringBooleanParameter(SpringParameter):
    """true or false, on or off, yes or no, 1 or 0."""

    schema = {"type": "boolean"}
    many: ClassVar[bool] = False

    def __init__(self, name: str, default: bool, **keywords: Any) -> None:
        super().__init__(name, operators=ONLY_EQ, **keywords)
        self.default = default

    def read(self, text: str) -> bool:
        if text.lower() not in (*_TRUE, *_FALSE):
            raise InvalidValue(text)
        return text.lower() in _TRUE

    def absent(self) -> bool:
        return self.default


class SpringChoiceParameter(SpringParameter):
    """One of some words, in any case; becomes the word in lower case."""

    many: ClassVar[bool] = False

    def __init__(self, name: str, choices: tuple[str, ...], default: str, **keywords: Any) -> None:
        super().__init__(name, operators=ONLY_EQ, **keywords)
        self.choices, self.default = choices, default

    @property
    def schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": "string", "enum": list(self.choices)}

    def read(self, text: str) -> str:
        if text.lower() not in self.choices:
            raise InvalidValue(text)
        return text.lower()

    def absent(self) -> str:
        return self.default


class SpringOrderParameter(SpringChoiceParameter):
    """asc or desc."""

    def __init__(self, default: str = "asc") -> None:
        super().__init__("order", ("asc", "desc"), default, help="The order of the rows.")

    def filter(self, query: Query, value: str) -> Query:  # type: ignore[override]
        return Query(query.where, value == "desc", query.limit)


class SpringLimitParameter(SpringParameter):
    """The number of rows of a page. More than the configured maximum is an error."""

    many: ClassVar[bool] = False

    @property
    def schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": "integer", "minimum": 1, "maximum": self.most_rows}

    def __init__(
        self, default: str = "rest.response.limit.default", most: str = "rest.response.limit.max"
    ) -> None:
        super().__init__("limit", operators=ALL, help="The number of rows of a page.")
        self.default, self.most = default, most

    @property
    def most_rows(self) -> int:
        return int(config.value(self.most))

    def read(self, text: str) -> int:
        return read_int32(text)

    def absent(self) -> int:
        return int(config.value(self.default))

    def filter(self, query: Query, value: int) -> Query:  # type: ignore[override]
        return Query(query.where, query.descending, value)

    def violations(self, value: int) -> list[str]:
        if value <= 0:
            return ["limit must be greater than 0"]
        return [f"limit must be less than or equal to {self.most_rows}"] if value > self.most_rows else []
