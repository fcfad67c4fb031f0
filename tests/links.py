"""Lists followed through their links, and comparisons of the API as a plain filter."""

import operator
from collections.abc import Iterable, Iterator
from typing import Any

from hypothesis import strategies as st

from mirror.core.db.reading.sql import Comparison
from tests.api import Api

_HOLDS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


def pages(url: str, name: str) -> Iterator[list[dict[str, Any]]]:
    """The rows of each page of a list."""
    api = Api()
    while url:
        answer = api.get(url)
        assert answer.status == 200, (url, answer.body)
        body = answer.json()
        yield body[name]
        url = body["links"]["next"]


def meets(value: Any, comparisons: Iterable[Comparison]) -> bool:
    """Whether a value meets all comparisons; null meets none."""
    return all(value is not None and _HOLDS[name](value, other) for name, other in comparisons)


def comparisons(values: st.SearchStrategy[Any], operators: str, most: int = 2) -> st.SearchStrategy[Any]:
    return st.lists(st.builds(Comparison, st.sampled_from(operators.split()), values), max_size=most)


def texts(**parameters: Iterable[Comparison]) -> list[str]:
    """Query parameters; an underscore in a name stands for a dot."""
    return [
        f"{name.replace('_', '.')}={one.operator}:{one.value}"
        for name, compared in parameters.items()
        for one in compared
    ]
