"""Keyset paging: which request gives the rows after this page.

A view names its paging parameters with the member of a row that holds their value, the most significant
first: `paging = {"token.id": "token_id", "serialnumber": "serial_number"}`. The next page is the same
request with these parameters moved on to the last row. Links are text for people and clients to send as it
stands, so their values are not percent-encoded.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from mirror.db.bounds import Bounds
from mirror.rest.paging import links
from mirror.rest.parameters.parameter_set import ParameterSet, split_last
from mirror.rest.parameters.query_string import Texts

_RANGE_OPERATORS = ("gt:", "gte:", "lt:", "lte:")


def is_equality(text: str) -> bool:
    """Whether a parameter's text asks for one value: it has no operator, or eq."""
    operator, _ = split_last(text)
    return operator == "eq"


def classic_link(parameters: ParameterSet, values: Mapping[str, Any], *, by_value: bool = True) -> str | None:
    """The link of a classic endpoint to the rows after `values` (parameter name -> value of the last row).

    None when the bounds of the request leave nothing, which only rows in the order of their values can tell
    (`by_value`), and when no parameter can move on. A request for one value of a paging parameter keeps it,
    so its link repeats the request.
    """
    query: Texts = {name: list(texts) for name, texts in parameters.texts.items()}
    direction = "lt" if parameters.descending else "gt"
    same_direction = (f"{direction}:", f"{direction}e:")
    names = list(values)
    fixed = [any(is_equality(text) for text in parameters.texts.get(name, ())) for name in names]
    if not names or (len(names) > 1 and all(fixed)):
        return None
    for position, name in enumerate(names):
        inclusive = position + 1 < len(names) and not fixed[position + 1]
        bound = f"{direction}{'e' if inclusive else ''}:{values[name]}"
        before = parameters.texts.get(name)
        if before is None:
            query[name] = [bound]
            continue
        kept = [text for text in before if not any(operator in text for operator in same_direction)]
        if len(before) == 1 and not kept:
            del query[name]
            kept.append(bound)
        elif before[0].startswith(_RANGE_OPERATORS):
            kept.append(bound)
        query[name] = kept
    if by_value and _leaves_nothing(parameters, names[0], query[names[0]]):
        return None
    pairs = "&".join(f"{name}={text}" for name, texts in query.items() for text in texts)
    path = parameters.path.removesuffix("/")
    return f"{path}?{pairs}"


def _leaves_nothing(parameters: ParameterSet, name: str, texts: Sequence[str]) -> bool:
    _, parameter = parameters.by_name[name]
    comparisons = [parameter.comparison(text, split_last) for text in texts]
    return Bounds.of(found for found in comparisons if found.value is not None).empty


def newer_link(parameters: ParameterSet, values: Mapping[str, Any]) -> str | None:
    """The link of a newer endpoint: also given when the bounds leave nothing, and percent-encoded.

    A parameter whose value is None only loses its bounds in the direction of the page.
    """
    direction = "lt" if parameters.descending else "gt"
    same_direction = (f"{direction}:", f"{direction}e:")
    query: Texts = {}
    for name, texts in parameters.texts.items():
        kept = texts
        if name in values:
            listed = texts[0].split(",") if len(texts) == 1 else texts
            kept = [text for text in listed if not text.lower().startswith(same_direction)]
        if kept:
            query[name] = kept
    names = [name for name, value in values.items() if value is not None]
    for name, following in zip(names, [*names[1:], None], strict=True):
        if _has_equality(query.get(name, ())):
            continue
        fixed = following is not None and _has_equality(query.get(following, ()))
        operator = direction if following is None or fixed else f"{direction}e"
        query[name] = [*query.get(name, ()), f"{operator}:{values[name]}"]
    pairs = "&".join(f"{_encoded(name)}={_encoded(text)}" for name, texts in query.items() for text in texts)
    return f"{parameters.path}?{pairs}"


def _has_equality(texts: Sequence[str]) -> bool:
    """Whether one of the values is no bound; here ne is none, either."""
    return any(text.strip() and not text.lower().startswith(_RANGE_OPERATORS) for text in texts)


def _encoded(text: str) -> str:
    return quote(text, safe="!$'()*,;:@/?~-._")


class KeysetPagination(BasePagination):
    """The pagination class of classic endpoints. `next_link` is None until a full page has been seen."""

    next_link: str | None = None
    link: Callable[..., str | None] = staticmethod(classic_link)

    def paginate_queryset(self, queryset: Any, request: Request, view: APIView | None = None) -> Any:
        """Link to the next page if this one is full. `queryset` is its rows as JSON, returned unchanged."""
        parameters: ParameterSet = request.parameters  # type: ignore[attr-defined]
        if queryset and self.is_full(len(queryset), parameters.limit):
            last = queryset[-1]
            paging: Mapping[str, str] = view.paging  # type: ignore[union-attr]
            self.continue_after(request, {name: last[member] for name, member in paging.items()})
        return queryset

    def is_full(self, rows: int, limit: int) -> bool:
        return rows == limit

    def continue_after(self, request: Request, values: Mapping[str, Any]) -> None:
        """Link to the rows after these values of the paging parameters."""
        link = self.link(request.parameters, values)  # type: ignore[attr-defined]
        self.next_link = None if link is None else self.base(request) + link

    def base(self, request: Request) -> str:
        """Return what stands before the path of a link."""
        return links.base(request)

    def get_paginated_response(self, data: Any) -> Response:
        return Response({**data, "links": {"next": self.next_link}})


class NewerPagination(KeysetPagination):
    """The pagination class of newer endpoints."""

    link = staticmethod(newer_link)

    def base(self, request: Request) -> str:
        """Links begin with the path, whatever the operator wants of the classic endpoints."""
        return ""

    def is_full(self, rows: int, limit: int) -> bool:
        return rows >= limit
