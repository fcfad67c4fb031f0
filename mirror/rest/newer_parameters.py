"""Query parameters of the newer endpoints, whose rules differ from the classic ones in nearly every point.

Unknown names are ignored; names are case-sensitive, operators are not; of a repeated single value the first
counts; a list given once is split at commas; blank means absent. What can't be converted is reported alone,
by the first parameter in order of declaration: `Failed to convert '<name>'`. Then all broken constraints are
reported together. What several values of one parameter mean together is checked by the endpoint.
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar

from mirror import config
from mirror.db.sql import Comparison
from mirror.rest.errors import BadRequest
from mirror.rest.parameters import ALL, ONLY_EQ, InvalidValue, Parameter, ParameterSet
from mirror.rest.query import Query, newer_query
from mirror.values import entity_id

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")
_TRUE, _FALSE = ("true", "on", "yes", "1"), ("false", "off", "no", "0")


def split_first(text: str) -> tuple[str, str]:
    """(operator in lower case, value)."""
    head, colon, value = text.partition(":")
    return (head.lower(), value) if colon else ("eq", text)


def not_converted(name: str) -> BadRequest:
    return BadRequest(f"Failed to convert '{name}'")


class NewerParameter(Parameter[Any]):
    """A parameter of a newer endpoint. Only lists have operators: a single value is taken as it stands."""

    def comparison(self, text: str, split: Callable[[str], tuple[str, str]]) -> Comparison:
        return super().comparison(text, split) if self.many else Comparison("eq", self.read(text))

    def violations(self, value: Any) -> list[str]:
        """The constraints that the converted value breaks."""
        return []


class NewerParameterSet(ParameterSet):
    """The parameters of a newer endpoint, declared in the order in which their problems are reported."""

    @staticmethod
    def read_query(raw: str) -> Query:
        return newer_query(raw)

    def _read(self, query: Query) -> None:
        broken: list[str] = []
        for key, parameter in self.declared.items():
            texts = query.get(parameter.name, [])
            if parameter.many and len(texts) == 1:
                texts = texts[0].split(",")
            texts = [text for text in texts if text.strip()]
            if not parameter.many:
                texts = texts[:1]
            value = parameter.absent()
            if texts:
                try:
                    value = parameter.combined([parameter.comparison(text, split_first) for text in texts])
                except InvalidValue:
                    raise not_converted(parameter.name) from None
            setattr(self, key, value)
            if isinstance(parameter, NewerParameter):
                broken += parameter.violations(value)
        if broken:
            raise BadRequest(*broken)


class NewerEntityIdParameter(NewerParameter):
    """Up to `most` entity ids by number, each with an operator; `variable` is how a violation calls them."""

    def __init__(self, name: str, *, variable: str, most: int = 2, **keywords: Any) -> None:
        super().__init__(name, **keywords)
        self.variable, self.most = variable, most

    def read(self, text: str) -> int:
        try:
            return entity_id.parse(text, config.value("common.shard"), config.value("common.realm"))
        except entity_id.InvalidEntityId:
            raise InvalidValue(text) from None

    def violations(self, value: list[Comparison]) -> list[str]:
        if len(value) <= self.most:
            return []
        return [f"{self.variable} size must be between 0 and {self.most}"]


class NewerBooleanParameter(NewerParameter):
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


class NewerOrderParameter(NewerParameter):
    """asc or desc, in any case."""

    schema = {"type": "string", "enum": ["asc", "desc"]}
    many: ClassVar[bool] = False

    def __init__(self, default: str = "asc") -> None:
        super().__init__("order", operators=ONLY_EQ, help="The order of the rows.")
        self.default = default

    def read(self, text: str) -> str:
        if text.lower() not in ("asc", "desc"):
            raise InvalidValue(text)
        return text.lower()

    def absent(self) -> str:
        return self.default


class NewerLimitParameter(NewerParameter):
    """How many rows a page has; more than the configured maximum is an error."""

    schema = {"type": "integer", "minimum": 1}
    many: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__("limit", operators=ALL, help="The number of rows of a page.")

    def read(self, text: str) -> int:
        if _WHOLE_NUMBER.fullmatch(text) is None or not -(1 << 31) <= int(text) < 1 << 31:
            raise InvalidValue(text)
        return int(text)

    def absent(self) -> int:
        return int(config.value("rest.response.limit.default"))

    def violations(self, value: int) -> list[str]:
        most = config.value("rest.response.limit.max")
        if value <= 0:
            return ["limit must be greater than 0"]
        return [f"limit must be less than or equal to {most}"] if value > most else []
