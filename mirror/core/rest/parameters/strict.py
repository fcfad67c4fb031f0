"""Strict query parameters: those of network/nodes and network/registered-nodes.

They are read like those of the other Spring endpoints, with three differences: all parameters with invalid
values are reported, by their names alone; a parameter that has a single value may be sent only once; a comma
separates nothing.
"""

from collections.abc import Iterable
from typing import Any

from mirror.core.db.reading.sql import Comparison
from mirror.core.db.sql.bounds import Bounds
from mirror.core.rest.answers.errors import BadRequest, InvalidParameter, Problem
from mirror.core.rest.parameters.parameter_set import InvalidValue
from mirror.core.rest.parameters.query_string import Texts
from mirror.core.rest.parameters.spring import (
    SpringLimitParameter,
    SpringNumberParameter,
    SpringParameter,
    SpringParameterSet,
    converted,
)


class InvalidParameters(InvalidParameter):
    """400 `Invalid parameter: <name>` for each of several parameters."""

    def __init__(self, *names: str) -> None:
        BadRequest.__init__(self, *[Problem(f"Invalid parameter: {name}") for name in names])


class StrictParameterSet(SpringParameterSet):
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
            if isinstance(parameter, SpringParameter) and parameter.violations(value):
                out_of_range.append(parameter.name)
            setattr(self, key, value)
        if invalid or out_of_range:
            raise InvalidParameters(*invalid, *out_of_range)


class CappedLimitParameter(SpringLimitParameter):
    """The number of rows of a page, at least 1. More than the configured maximum becomes the maximum."""

    @property
    def schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": "integer", "minimum": 1}

    def read(self, text: str) -> int:
        return min(super().read(text), self.most_rows)

    def absent(self) -> int:
        return min(super().absent(), self.most_rows)


class StrictIdParameter(SpringNumberParameter):
    """Ids from 0 on. Bounds that leave none of them are an error, as is `lt:0`."""

    least, pages_equal = 0, True


def id_bounds(comparisons: Iterable[Comparison]) -> Bounds:
    """Return the range and the values that comparisons of such ids leave."""
    return Bounds.of([*comparisons, Comparison("gte", StrictIdParameter.least)])
