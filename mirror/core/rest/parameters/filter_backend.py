"""The filter backend of all views, by DRF's contract."""

from typing import Any

from rest_framework.filters import BaseFilterBackend
from rest_framework.request import Request
from rest_framework.views import APIView

from mirror.core.rest import users
from mirror.core.rest.parameters import classic, spring
from mirror.core.rest.parameters.parameter_set import ParameterSet


class ParameterBackend(BaseFilterBackend):
    """Reads the request's parameters, and narrows the query by them."""

    def filter_queryset(self, request: Request, queryset: Any, view: APIView) -> Any:
        """Return the narrowed query. The parameters are `request.parameters` from here on.

        Errors: BadRequest.
        """
        declared: type[ParameterSet] = view.parameters  # type: ignore[attr-defined]
        texts = declared.split_query(request.META.get("QUERY_STRING", ""))
        parameters = declared(texts, request.path)
        if parameters.unknown:
            view.headers["warning"] = spring.warning(parameters.unknown)
        if (max_rows := users.most_rows(request)) is not None:
            _change_most_rows(parameters, max_rows)
        request.parameters = parameters  # type: ignore[attr-defined]
        return parameters.filter_queryset(queryset)

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        parameters: type[ParameterSet] = view.parameters  # type: ignore[attr-defined]
        return parameters.described()


def _change_most_rows(parameters: ParameterSet, max_rows: int) -> None:
    """Let a page have up to `max_rows` rows, instead of as many as the settings say."""
    for key, parameter in parameters.declared.items():
        if isinstance(parameter, classic.Limit) and parameter.by_user:
            setattr(parameters, key, parameter.up_to(max_rows, parameters.texts.get(parameter.name, [])))
