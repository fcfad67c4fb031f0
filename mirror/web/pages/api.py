"""GET /api/v1/docs/: every request of the API, with a form that sends it. The page is cached.

Swagger UI would do the same in two megabytes of scripts, light only, and with scripts in the page itself.
"""

from functools import cache

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from mirror.web.pages import answer

_MAX_AGE_SECONDS = 60


@require_safe
def api(request: HttpRequest) -> HttpResponse:
    return answer.page(_html(), max_age=_MAX_AGE_SECONDS)


@cache
def _html() -> str:
    # The description and its libraries are loaded only when someone asks for it.
    from mirror.web.pages import api_requests

    return answer.html("api.html", {"subjects": api_requests.subjects()})
