"""ReadView: a viewset that answers GET from its parameters, its query and its JSON functions.

    class Blocks(ReadView):
        parameters, answers = BlockParameters, BlocksJson
        paging = {"block.number": "number"}
        max_age = 1

        def read(self, parameters: BlockParameters) -> Answer:
            return self.page("blocks", [BLOCK.json(row) for row in queries.blocks(BLOCK.columns, self.query)])

A request takes DRF's steps: the filter backend reads its parameters and narrows the query, `read` fetches and
formats the rows, the paginator links to the next page, the renderer writes JSON, the exception handler
answers errors. Steps that a public read-only API doesn't need (a request of DRF's own, negotiation,
authentication, permissions, throttles, parsers) are left out: they took most of the time of a short request.
Nothing of a request may refer to itself in a circle, as its bound methods would if the view held them: what
only the garbage collector finds makes it stop all requests for a tenth of a second every thousand requests.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, update_wrapper
from http import HTTPStatus
from typing import Any, ClassVar, NamedTuple

from django.utils.encoding import escape_uri_path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from mirror.core.db.loaded_ranges import HEADER, loaded
from mirror.core.db.reading import budget
from mirror.core.db.reading.query import Query
from mirror.core.rest.answers.errors import (
    Failure,
    NotFound,
    UnsupportedMediaType,
    WrongMethod,
    answer,
    classic_envelope,
    spring_envelope,
)
from mirror.core.rest.answers.response import ApiResponse, JsonRenderer, PlainJsonRenderer, SpringJsonRenderer
from mirror.core.rest.paging.keyset import KeysetPagination, SpringPagination
from mirror.core.rest.parameters.filter_backend import ParameterBackend
from mirror.core.rest.parameters.parameter_set import NoParameters, ParameterSet

Answer = dict[str, Any]
#: A JSON object as views pass it on: any TypedDict.
JsonObject = Mapping[str, Any]


class PostedBody(NamedTuple):
    """POST in the API description; `body`, `answers` and `error` are types.

    `examples` maps names to bodies. `error` and `failures` are set where they differ from those of the other
    endpoints.
    """

    parameters: type[ParameterSet]
    media_types: tuple[str, ...]
    body: Any
    answers: Any
    examples: Mapping[str, Any] = {}
    error: Any = None
    failures: tuple[HTTPStatus, ...] = ()


class ReadView(GenericViewSet[Any]):
    """A classic endpoint. Subclasses declare what differs and define `read`."""

    #: The query parameters.
    parameters: ClassVar[type[ParameterSet]] = NoParameters
    #: Paging parameter -> member of a row that holds its value, the most significant first.
    paging: Mapping[str, str] = {}
    #: Seconds for which a client or proxy may cache a successful answer; `read` may set it on the instance.
    max_age: int = 1
    #: The setting that switches the endpoint on, if there is one. It is described only while it is on.
    enabled_by: ClassVar[str] = ""
    #: Whether problems of the path are reported before those of the query.
    path_first: ClassVar[bool] = False

    #: The type of a successful answer to GET, for the API description: a TypedDict, or one per media type.
    answers: ClassVar[Any] = None
    #: The type and statuses of a failed GET, where they differ from those of the other endpoints.
    error: ClassVar[Any] = None
    failures: ClassVar[tuple[HTTPStatus, ...]] = ()
    #: POST, for the API description.
    posted: ClassVar[PostedBody | None] = None

    #: HTTP method -> the method of the view that serves it.
    actions: ClassVar[Mapping[str, str]] = {"get": "answer"}

    #: The query that the request's parameters narrow.
    queryset: Query = Query()  # type: ignore[assignment]
    #: The narrowed query.
    query: Query

    filter_backends: Sequence[type[ParameterBackend]] = [ParameterBackend]
    pagination_class: type[KeysetPagination] = KeysetPagination
    #: Whether a header of the answer says what is loaded.
    tells_loaded: ClassVar[bool] = True
    #: `read` may set another one on the instance.
    renderer: JsonRenderer = JsonRenderer()
    weak_etag: ClassVar[bool] = True

    #: `read(parameters, **path)`: the members of the JSON answer, or the response of `page`.
    read: Callable[..., JsonObject | Response]

    def resolve(self, **path: str) -> dict[str, Any]:
        """Return the parts of the path as `read` gets them. Errors: InvalidParameter, NotFound."""
        return path

    def answer(self, request: Request, **path: str) -> Response:
        """Answer GET and HEAD, within the time budget."""
        budget.begin()
        try:
            values = self.resolve(**path) if self.path_first else None
            self.query = self.filter_queryset(self.queryset)  # type: ignore[arg-type,assignment]
            if values is None:
                values = self.resolve(**path)
            return self.success(self.read(request.parameters, **values))  # type: ignore[attr-defined]
        finally:
            budget.end()

    def success(self, body: JsonObject | Response) -> Response:
        """Add the headers of a successful answer."""
        response = body if isinstance(body, Response) else ApiResponse(body)
        self.headers["cache-control"] = f"public, max-age={self.max_age}"
        if link := self.paginator.next_link:
            self.headers["link"] = f'<{link}>; rel="next"'
        return response

    def page(
        self, name: str, rows: Sequence[JsonObject], *, before: JsonObject | None = None, after: Any = None
    ) -> Response:
        """Answer a page of a list with the link to the next page. The members of `before` come first.

        `after`: the value of the first paging parameter after which a page continues that is not full.
        """
        if after is not None:
            self.continue_after(**{next(iter(self.paging)): after})
        return self.get_paginated_response({**(before or {}), name: self.paginate_queryset(rows)})

    def continue_after(self, **values: Any) -> None:
        """Link to the rows after these values, although the page is not full."""
        self.paginator.continue_after(self.request, values)

    def narrowed_by(self) -> str:
        """Return the parameter that leaves the database less to read: the time, or else the first key."""
        names = [parameter.name for parameter in self.parameters.declared.values()]
        return "timestamp" if "timestamp" in names else next(iter(self.paging), "")

    def failed(self, failure: Failure) -> Response:
        if isinstance(failure, WrongMethod):
            failure = NotFound()
        return ApiResponse(classic_envelope(failure), failure.status)

    # DRF's steps around the handler.

    @classmethod
    def as_view(  # type: ignore[override]
        cls, actions: Any = None, **initkwargs: Any
    ) -> Callable[..., Response]:
        """Return the function that Django's routes call; DRF's own ties each view to its methods."""
        described = super().as_view(actions, **initkwargs)

        def view(request: Any, **path: str) -> Response:
            return cls(**initkwargs).dispatch(request, **path)

        return update_wrapper(view, described)

    def dispatch(self, request: Any, *args: Any, **path: str) -> Response:
        """Answer a request of Django's: nothing needs the parts that DRF's request adds."""
        self.request, self.headers = request, self.default_response_headers
        try:
            # Before any row is read: what is loaded meanwhile may be reported too late, but never too early.
            if self.tells_loaded and (header := loaded().header):
                self.headers[HEADER] = header
            response = self._handler(request.method)(request, **path)
        except Exception as error:
            response = answer(error, {"view": self, "request": request})
        finished: Response = self.finalize_response(request, response)
        return finished

    def _handler(self, method: str) -> Callable[..., Response]:
        name = self.actions.get("get" if method == "HEAD" else method.lower())
        if name is None:
            raise WrongMethod(method)
        handler: Callable[..., Response] = getattr(self, name)
        return handler

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        response.accepted_renderer = self.renderer
        response.weak_etag = self.weak_etag
        for name, value in self.headers.items():
            response.headers[name] = value
        return response

    @cached_property
    def paginator(self) -> KeysetPagination:
        return self.pagination_class()

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {}


class SpringReadView(ReadView):
    """A Spring endpoint: other errors, links and headers. Its path always comes first."""

    path_first = True
    pagination_class = SpringPagination
    renderer: JsonRenderer = SpringJsonRenderer()
    weak_etag = False

    def failed(self, failure: Failure) -> Response:
        self.renderer = PlainJsonRenderer()
        response = ApiResponse(spring_envelope(failure), failure.status)
        if isinstance(failure, WrongMethod):
            response.headers["allow"] = ", ".join(name.upper() for name in [*self.actions, "head"])
        elif isinstance(failure, UnsupportedMediaType) and self.posted is not None:
            response.headers["accept"] = ", ".join(self.posted.media_types)
        elif self.max_age:
            response.headers["cache-control"] = f"public, max-age={self.max_age}"
        return response


class UnknownRoute(ReadView):
    """Answers all paths that are not in the API."""

    tells_loaded = False

    def answer(self, request: Request, **path: str) -> Response:
        raise NotFound


class SpringUnknownRoute(SpringReadView):
    """Answers unknown paths next to Spring endpoints."""

    tells_loaded = False
    max_age = 0

    def answer(self, request: Request, **path: str) -> Response:
        sent = escape_uri_path(request.path)
        raise NotFound(f"No static resource {request.path.strip('/')} for request '{sent}'.")
