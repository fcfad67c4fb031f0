"""A client of the API: it reads whole lists by their links, in pages of any size."""

import json
import re
from random import Random
from typing import Any
from urllib.parse import urlencode

from django.db import reset_queries

from tests.api import Answer, Api

_MOST = 100
_SHOWN = 8


class Rest:
    """A client; `choose` decides the sizes of pages."""

    def __init__(self, choose: Random) -> None:
        self.requests = 0
        self._choose = choose
        self._api = Api()

    def answer(self, path: str, **query: object) -> Answer:
        """Return the answer for a path. In `query`, double underscores are dots: `account__id="gt:5"`."""
        names = urlencode({name.replace("__", "."): str(text) for name, text in query.items()}, safe=":")
        return self._request(f"/api/v1/{path}{'?' * bool(names)}{names}")

    def get(self, path: str, **query: object) -> Any:
        answer = self.answer(path, **query)
        assert answer.status == 200, answer
        return answer.json()

    def all(self, path: str, name: str, **query: object) -> list[Any]:
        """Return all rows of a list."""
        body = self.get(path, **query, limit=self._limit())
        rows: list[Any] = body[name]
        while link := body["links"]["next"]:
            # The client may ask for another number of rows on every page.
            answer = self._request(re.sub(r"limit=\d+", f"limit={self._limit()}", link))
            assert answer.status == 200, answer
            body = answer.json()
            rows += body[name]
        return rows

    def _request(self, url: str) -> Answer:
        self.requests += 1
        # Django records the latest statements, of which those of a request are counted.
        reset_queries()
        return self._api.get(url)

    def _limit(self) -> int:
        return self._choose.choice((_MOST, _MOST, _MOST, self._choose.randint(1, _MOST)))


def same(actual: Any, expected: Any, *about: object) -> None:
    """Compare two values. Errors: AssertionError that says where they differ."""
    if actual != expected:
        found = list(_differences(actual, expected, ""))
        shown = "\n".join(found[:_SHOWN]) + (f"\n... {len(found)} in all" if len(found) > _SHOWN else "")
        raise AssertionError(f"{' '.join(map(str, about))}\n{shown}")


def _differences(actual: Any, expected: Any, path: str) -> Any:
    if isinstance(actual, dict) and isinstance(expected, dict):
        for name in sorted(actual.keys() | expected.keys(), key=str):
            if name not in actual or name not in expected:
                lacking = "the API" if name not in actual else "the model"
                other = _short(actual.get(name, expected.get(name)))
                yield f"{path}.{name}: {lacking} lacks it, the other says {other}"
            else:
                yield from _differences(actual[name], expected[name], f"{path}.{name}")
    elif isinstance(actual, list) and isinstance(expected, list) and len(actual) == len(expected):
        for place, (one, other) in enumerate(zip(actual, expected, strict=True)):
            yield from _differences(one, other, f"{path}[{place}]")
    elif isinstance(actual, list) and isinstance(expected, list):
        yield f"{path}: the API has {len(actual)}, the model {len(expected)}"
        for one in [one for one in actual if one not in expected][:_SHOWN]:
            yield f"{path}: only of the API: {_short(one)}"
        for one in [one for one in expected if one not in actual][:_SHOWN]:
            yield f"{path}: only of the model: {_short(one)}"
    elif actual != expected:
        yield f"{path}: the API says {_short(actual)}, the model {_short(expected)}"


def _short(value: Any) -> str:
    return json.dumps(value, default=repr)[:400]
