"""ReadView: a viewset that answers GET from its parameters, its query and its JSON functions.

    class Blocks(ReadView):
        parameters, answers = BlockParameters, BlocksJson
        paging = {"block.number": "number"}
        max_age = 1

        def read(self, parameters: BlockParameters) -> Answer:
            return self.page("blocks", [BLOCK.json(row) for row in queries.blocks(BLOCK.columns, self.query)])

A request takes REST framework's steps: authentication, permissions and throttles; then the filter backend
reads its parameters and narrows the query, `read` fetches and formats the rows, the paginator links to the
next page, the renderer writes JSON, the exception handler answers errors. A successful answer is cached
(`mirror.core.rest.cache`), and found there after the throttles.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any, ClassVar, NamedTuple

from django.http import HttpResponse
from django.utils.encoding import escape_uri_path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from mirror.core.db.reading import budget
from mirror.core.db.reading.query import Query
from mirror.core.metrics import http
from mirror.core.rest.answers.errors import (
    Failure,
    NotFound,
    UnsupportedMediaType,
    WrongMethod,
    classic_envelope,
    spring_envelope,
)
from mirror.core.rest.answers.response import JsonRenderer, PlainJsonRenderer, SpringJsonRenderer
from mirror.core.rest.cache import responses
from mirror.core.rest.paging.keyset import KeysetPagination, SpringPagination
from mirror.core.rest.parameters.filter_backend import ParameterBackend
from mirror.core.rest.parameters.parameter_set import NoParameters, ParameterSet
from mirror.core.rest.throttle import LIMIT_HEADERS

LOADED_HEADER = "Mirror-Loaded"
#: Return the loaded blocks as that header has them, None if unknown; the app that has them adds it.
LOADED_BLOCKS: list[Callable[[], str | None]] = []

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
    actions: ClassVar[Mapping[str, str]] = {"get": "retrieve"}

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

    def retrieve(self, request: Request, **path: str) -> HttpResponse:
        """Answer GET and HEAD: from the cache, or within the time budget."""
        cache = responses.configured()
        key = None if cache is None else cache.key(request)
        if cache is None or key is None:
            return self.answer(request, **path)
        if (found := cache.find(key)) is not None:
            http.CACHE.labels("hit").inc()
            self.headers = {}
            return found
        http.CACHE.labels("miss").inc()
        response = self.answer(request, **path)
        store = partial(cache.store, key)
        if isinstance(response, Response):
            response.add_post_render_callback(store)
        elif isinstance(response, HttpResponse):
            store(response)
        return response

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
        response = body if isinstance(body, Response) else Response(body)
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
        return Response(classic_envelope(failure), failure.status)

    # REST framework's steps around the handler.

    def initial(self, request: Request, *args: Any, **path: Any) -> None:
        super().initial(request, *args, **path)
        # Before any row is read: what is loaded meanwhile may be reported too late, but never too early.
        for loaded_blocks in LOADED_BLOCKS if self.tells_loaded else ():
            if header := loaded_blocks():
                self.headers[LOADED_HEADER] = header

    def get_renderers(self) -> list[JsonRenderer]:  # type: ignore[override]
        return [self.renderer]

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        request.accepted_renderer, request.accepted_media_type = self.renderer, self.renderer.media_type
        self.headers |= getattr(request, LIMIT_HEADERS, {})
        response.weak_etag = self.weak_etag
        return super().finalize_response(request, response, *args, **kwargs)

    @cached_property
    def paginator(self) -> KeysetPagination:
        return self.pagination_class()

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {}


class SpringReadView(ReadView):
    """A Spring endpoint: other errors, links and headers. Its path always comes first."""

    path_first = True
    authentication_classes = ()
    pagination_class = SpringPagination
    renderer: JsonRenderer = SpringJsonRenderer()
    weak_etag = False

    def failed(self, failure: Failure) -> Response:
        self.renderer = PlainJsonRenderer()
        response = Response(spring_envelope(failure), failure.status)
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
