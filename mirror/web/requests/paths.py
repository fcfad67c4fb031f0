"""What kind of request a path is for."""

from functools import cache

from django.urls import get_resolver

from mirror.core.rest.routes import Routes

_API = "/api/"
#: Whether the process answers at all.
LIVENESS = "/health/liveness"
# These are requested when others fail.
_ABOUT_THE_NODE = frozenset({LIVENESS, "/health/readiness", "/health/lag", "/metrics"})
_WITHOUT_DATABASE = ("/docs", "/api/v1/docs", "/robots.txt", "/favicon.")


def is_of_api(path: str) -> bool:
    """Return whether a path is one of the API, whose routes match in any case."""
    return path[: len(_API)].lower() == _API


def is_monitoring_path(path: str) -> bool:
    return path in _ABOUT_THE_NODE


def needs_no_database(path: str) -> bool:
    """Return whether a path is one of a page that is the same whatever is loaded."""
    return path.startswith(_WITHOUT_DATABASE)


@cache
def api_routes() -> Routes:
    (routes,) = (each for each in get_resolver().url_patterns if isinstance(each, Routes))
    return routes
