"""The WSGI application of each web worker."""

import gc
import os
from collections.abc import Iterable
from typing import Any

import django
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http import HttpResponse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")

_API = "/api/"


class ApiHandler(WSGIHandler):
    """Django's handler, which sends no signals around a request to the API.

    Their receivers look after connections and caches before and after each request, which takes a sixth of
    the time of a short one. Here a turn looks after its connection (`mirror.db.turns`), and only after a
    failure.
    """

    def __call__(  # type: ignore[override]
        self, environ: dict[str, Any], start_response: Any
    ) -> Iterable[bytes]:
        if not environ["PATH_INFO"].startswith(_API):
            return super().__call__(environ, start_response)
        response = self.get_response(WSGIRequest(environ))
        start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
        return [response.content] if isinstance(response, HttpResponse) else response


django.setup(set_prefix=False)
application = ApiHandler()

# A request makes thousands of objects, which die with it, and hardly a cycle. Looking for cycles as often as
# Python does by default would take a fifth of its time.
gc.freeze()
gc.set_threshold(100_000, 50, 100)
