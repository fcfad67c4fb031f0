"""One line per endpoint: its documented path and its view.

Classic paths match in any case and with one trailing slash. Paths of Spring endpoints match exactly;
`id="..."` narrows a part of the path to a pattern, and all other texts make it an unknown route. The name of
a route, for `reverse`, is its documented path below /api/v1/.
"""

import re
from collections.abc import Iterable, Mapping

from django.urls import URLPattern, URLResolver, include, re_path

from mirror.core.rest.views import ReadView, SpringReadView, SpringUnknownRoute, UnknownRoute

PREFIX = "api/v1/"

_PART = re.compile(r"\{(\w+)\}")
_ANY = "[^/]+"


def route(path: str, view: type[ReadView], **patterns: str) -> URLPattern:
    """Route a documented path below /api/v1/. Of `blocks/{hashOrNumber}` the view gets `hash_or_number`."""
    is_exact = issubclass(view, SpringReadView)
    pattern = ""
    for position, piece in enumerate(_PART.split(path)):
        if position % 2:
            name = snake_case(piece)
            pattern += f"(?P<{name}>{patterns.get(name, _ANY)})"
        else:
            pattern += re.escape(piece) if is_exact else _in_any_case(piece)
    end = "" if is_exact else "/?"
    return re_path(rf"^{pattern}{end}\Z", view.as_view({**view.actions}), name=path)


def _in_any_case(text: str) -> str:
    """Return a pattern for a text in any case, which `reverse` can take apart, unlike one with a flag."""
    return "".join(f"[{each}{each.upper()}]" if each.isalpha() else re.escape(each) for each in text)


def resolvers(routes: Iterable[URLPattern]) -> list[URLResolver]:
    """Return what resolves the routes, those of Spring endpoints first. In each group the first match wins"""
    listed = list(routes)
    exact = [each for each in listed if issubclass(view_of(each), SpringReadView)]
    others = [each for each in listed if each not in exact]
    return [
        re_path(f"^{PREFIX}", include(exact)),
        re_path(f"^{_in_any_case(PREFIX)}", include(others)),
    ]


def view_of(route: URLPattern) -> type[ReadView]:
    found: type[ReadView] = route.callback.cls  # type: ignore[attr-defined]
    return found


def views(routes: Iterable[URLPattern]) -> Mapping[str, type[ReadView]]:
    """Return documented path, below /api/v1/ -> view."""
    return {str(each.name): view_of(each) for each in routes}


def snake_case(name: str) -> str:
    return re.sub("([A-Z])", lambda letter: "_" + letter[1].lower(), name)


def unknown_route() -> URLPattern:
    """Route all other paths: the last line."""
    return re_path("", UnknownRoute.as_view({"get": "retrieve"}))


def spring_unknown_route(pattern: str) -> URLPattern:
    """Route the remaining paths that begin like this, below /api/v1/."""
    return re_path(rf"^{re.escape(PREFIX)}{pattern}", SpringUnknownRoute.as_view({"get": "retrieve"}))
