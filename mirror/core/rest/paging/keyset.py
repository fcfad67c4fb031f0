"""Keyset paging by DRF's pagination classes.

A view names its paging parameters with the member of a row that holds their value, the most significant
first: `paging = {"token.id": "token_id", "serialnumber": "serial_number"}`. After a full page the paginator
links to the rows that follow the last one.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from mirror.core.config import reverse_proxies
from mirror.core.rest.paging import links
from mirror.core.rest.parameters.parameter_set import ParameterSet


class KeysetPagination(BasePagination):
    """Pagination of classic endpoints. `next_link` is set after a full page."""

    next_link: str | None = None
    link: Callable[..., str | None] = staticmethod(links.classic_link)

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


class SpringPagination(KeysetPagination):
    link = staticmethod(links.spring_link)

    def base(self, request: Request) -> str:
        """Return a proxy's prefix alone: the setting for hosts in links is for classic endpoints."""
        return reverse_proxies.prefix(request.META)

    def is_full(self, rows: int, limit: int) -> bool:
        return rows >= limit
