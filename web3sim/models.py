"""The filters of contract calls, and their conditions: a text in one field of the request."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from django.core.exceptions import ValidationError
from django.db import models

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


#: Most requests per second of a filter.
MAX_RATE = 10**9


class ContractCallFilter(models.Model):
    """A filter: what to do with contract calls of some kind. It is edited in the admin.

    The setting `web3.throttle.request` has others. Every web server process sees a change within two seconds.
    """

    written_by_web_server = True

    class Action(models.TextChoices):
        LOG = "LOG", "log the request"
        REJECT = "REJECT", "refuse the request"
        THROTTLE = "THROTTLE", "refuse requests beyond a number per second"
        MODULARIZED = "MODULARIZED", "run with block translation"
        MONOLITHIC = "MONOLITHIC", "run with plain py-evm"

    name = models.CharField(primary_key=True, max_length=100)
    enabled = models.BooleanField(default=True)
    action = models.CharField(max_length=11, choices=Action, default=Action.LOG)
    # As `parse_conditions` reads them.
    conditions = models.TextField(blank=True)
    # Percent of the requests that are filtered; for THROTTLE requests per second.
    rate = models.IntegerField(default=100)
    # The total number of requests that are filtered, null for any number.
    limit = models.BigIntegerField(null=True, blank=True)
    changed = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "contract_call_filter"

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        errors: dict[str, str] = {}
        try:
            parse_conditions(self.conditions)
        except InvalidCondition as error:
            errors["conditions"] = str(error)
        max_rate = MAX_RATE if self.action == self.Action.THROTTLE else 100
        if self.rate is not None and not 0 <= self.rate <= max_rate:
            errors["rate"] = f"Choose a number from 0 to {max_rate}."
        if self.limit is not None and self.limit < 0:
            errors["limit"] = "Choose a number from 0 on, or none."
        if errors:
            raise ValidationError(errors)
