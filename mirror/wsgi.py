"""The WSGI application of each web worker."""

import gc
import io
import os
from collections.abc import Iterable
from typing import Any

import django
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, get_resolver

from mirror.core import config
from mirror.core.config.reverse_proxies import apply_forwarded
from mirror.web.monitoring import telemetry

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")

_API = "/api/"
_READ_METHODS = ("GET", "HEAD")


class ReadRequest(WSGIRequest):
    """A GET or HEAD request whose path is plain ASCII below `/`: as Django makes it, but without a body."""

    def __init__(self, environ: dict[str, Any]) -> None:
        self.environ = self.META = environ
        self.method = environ["REQUEST_METHOD"]
        self.path = self.path_info = environ["PATH_INFO"]
        self.content_type, self.content_params = environ.get("CONTENT_TYPE", ""), {}
        self.resolver_match = None
        self._stream, self._read_started = io.BytesIO(), False


class ApiHandler(WSGIHandler):
    """Django's handler, which spares requests to the API the steps that only other pages need.

    No signals are sent around them: their receivers look after connections and caches before and after each
    request, which takes a sixth of the time of a short one. Here a turn looks after its connection
    (`mirror.core.db.scheduling.request_scheduler`), and only after a failure. Their middleware is that of the
    API alone, and the route is looked up once.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async)
        # Applications are loaded only now.
        from mirror.core.rest.answers.middleware import ApiMiddleware
        from mirror.core.rest.routes import Routes

        (routes,) = (each for each in get_resolver().url_patterns if isinstance(each, Routes))
        self._find = routes.find
        view: Any = convert_exception_to_response(self._view)
        middleware = ApiMiddleware(view)
        self._api: Any = convert_exception_to_response(middleware)
        #: Headers and body of an answer that is at hand, so that it takes no turn; see `ApiMiddleware`.
        self.at_once = middleware.at_once

    def __call__(  # type: ignore[override]
        self, environ: dict[str, Any], start_response: Any
    ) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        # Only the whole middleware has that of traces.
        if not path.startswith(_API) or config.value(telemetry.ENDPOINT):
            # Pages compare the address that they are reached by with that of a form.
            return super().__call__(apply_forwarded(environ), start_response)
        is_plain = environ["REQUEST_METHOD"] in _READ_METHODS and path.isascii()
        request = ReadRequest(environ) if is_plain else WSGIRequest(environ)
        response = self._api(request)
        start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
        return [response.content] if isinstance(response, HttpResponse) else response

    def _view(self, request: Any) -> HttpResponseBase:
        """Answer by the view of an endpoint, or as Django answers everything else."""
        try:
            view, path = self._find(request.path_info)
        except Resolver404:
            response = super()._get_response(request)  # type: ignore[misc]
        else:
            response = view(request, **path)
        return response.render() if hasattr(response, "render") else response  # type: ignore[no-any-return]


django.setup(set_prefix=False)
telemetry.start()
application = ApiHandler()

# A request makes hundreds of objects, which die with it, and no cycles: see `mirror.core.rest.answers.views`.
# Looking for some as often as Python does by default would take a fifth of its time.
gc.freeze()
gc.set_threshold(100_000, 50, 100)
