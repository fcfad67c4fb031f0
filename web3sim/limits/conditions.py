"""The conditions of a filter of contract calls: a text in one field of the request."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

# Every process has the table of filters, and most of them have no calls.
if TYPE_CHECKING:
    from web3sim.calls.body import CallBody

#: Field -> its text in a request.
FIELDS: Mapping[str, Callable[["CallBody"], str]] = {
    "BLOCK": lambda body: body.block or "latest",
    "DATA": lambda body: _text(body.data),
    "ESTIMATE": lambda body: str(body.estimate),
    "FROM": lambda body: _text(body.sender),
    "GAS": lambda body: str(body.gas),
    "TO": lambda body: _text(body.to),
    "VALUE": lambda body: str(body.value),
}
TYPES = ("EQUALS", "CONTAINS")


class InvalidCondition(ValueError):
    """The message says what is wrong with a condition, and what would be right."""


class Condition(NamedTuple):
    """`expression` is in lower case."""

    field: str
    equals: bool
    expression: str

    def matches(self, body: "CallBody") -> bool:
        text = FIELDS[self.field](body).lower()
        return self.expression == text if self.equals else self.expression in text


def condition(field: str, comparison: str, expression: str) -> Condition:
    """Errors: InvalidCondition."""
    if field.upper() not in FIELDS:
        raise InvalidCondition(f"“{field}” is no field of a request: choose one of {', '.join(FIELDS)}.")
    if comparison.upper() not in TYPES:
        raise InvalidCondition(f"“{comparison}” is no way to compare: choose EQUALS or CONTAINS.")
    if not expression.strip():
        raise InvalidCondition(f"A text to look for is missing after {field.upper()} {comparison.upper()}.")
    return Condition(field.upper(), comparison.upper() == "EQUALS", expression.lower())


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """The conditions of a text with one in each line. Errors: InvalidCondition."""
    conditions = []
    for line in filter(None, map(str.strip, text.splitlines())):
        field, comparison, expression = (*line.split(None, 2), "", "")[:3]
        conditions.append(condition(field, comparison, expression))
    return tuple(conditions)


def _text(member: str | None) -> str:
    return "null" if member is None else member
