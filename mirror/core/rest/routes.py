"""One line per endpoint: its documented path and its view.

Classic paths match in any case and with one trailing slash. Paths of Spring endpoints match exactly;
`id="..."` narrows a part of the path to a pattern, and all other texts make it an unknown route.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.http.response import HttpResponseBase
from django.urls import Resolver404, ResolverMatch, URLPattern, URLResolver, re_path
from django.urls.resolvers import RegexPattern
from django.utils.datastructures import MultiValueDict
from django.utils.translation import get_language

from mirror.core.rest.answers.views import ReadView, SpringReadView, SpringUnknownRoute, UnknownRoute

PREFIX = "api/v1/"

_PART = re.compile(r"\{(\w+)\}")
_ANY = "[^/]+"


def route(path: str, view: type[ReadView], **patterns: str) -> URLPattern:
    """Route a documented path below /api/v1/. Of `blocks/{hashOrNumber}` the view gets `hash_or_number`."""
    pattern = ""
    for position, piece in enumerate(_PART.split(path)):
        if position % 2:
            name = snake_case(piece)
            pattern += f"(?P<{name}>{patterns.get(name, _ANY)})"
        else:
            pattern += re.escape(piece)
    if issubclass(view, SpringReadView):
        regex = rf"^{re.escape(PREFIX)}{pattern}\Z"
    else:
        regex = rf"^(?ai:{re.escape(PREFIX)}{pattern}/?)\Z"
    return re_path(regex, view.as_view({**view.actions}), name=path)


class Routes(URLResolver):
    """The routes of the API. Only those with the same first part as the request are tried."""

    def __init__(self, routes: Iterable[URLPattern]) -> None:
        self.routes: list[Any] = list(routes)
        super().__init__(RegexPattern(""), self.routes)
        #: Documented path, below /api/v1/ -> view.
        self.views: Mapping[str, type[ReadView]] = {
            str(pattern.name): pattern.callback.cls for pattern in self.routes
        }
        self._beginning: dict[str, list[tuple[URLPattern, Any]]] = defaultdict(list)
        for pattern in self.routes:
            self._beginning[str(pattern.name).partition("/")[0]].append(
                (pattern, pattern.pattern.regex.match)
            )

    def resolve(self, path: str) -> ResolverMatch:
        pattern, _ = self._match(path)
        match = pattern.resolve(path)
        assert match is not None
        return match

    def find(self, path: str) -> tuple[Callable[..., HttpResponseBase], dict[str, str]]:
        """Return the view of a path that begins with a slash, and its arguments. Errors: Resolver404."""
        pattern, arguments = self._match(path[1:])
        return pattern.callback, arguments

    def view(self, path: str) -> type[ReadView] | None:
        """Return the view of a path that begins with a slash, if it is one of an endpoint."""
        try:
            pattern, _ = self._match(path[1:])
        except Resolver404:
            return None
        found: type[ReadView] = pattern.callback.cls  # type: ignore[attr-defined]
        return found

    def name(self, path: str) -> str:
        """Return the documented path (below /api/v1/) of a path that begins with a slash.

        Errors: Resolver404.
        """
        pattern, _ = self._match(path[1:])
        return str(pattern.name)

    def _match(self, path: str) -> tuple[URLPattern, dict[str, str]]:
        parts = path.split("/", 3)
        for pattern, matched in self._beginning.get(parts[2].lower(), ()) if len(parts) > 2 else ():
            if found := matched(path):
                return pattern, found.groupdict()
        raise Resolver404({"path": path, "tried": []})

    def _populate(self) -> None:
        """Let `reverse` find nothing here: it can't take these patterns apart."""
        language = get_language()
        for found in (self._namespace_dict, self._app_dict):  # type: ignore[attr-defined]
            found[language] = {}
        self._reverse_dict[language] = MultiValueDict()
        self._populated = True


def snake_case(name: str) -> str:
    return re.sub("([A-Z])", lambda letter: "_" + letter[1].lower(), name)


def unknown_route() -> URLPattern:
    """Route all other paths: the last line."""
    return re_path("", UnknownRoute.as_view({"get": "answer"}))


def spring_unknown_route(pattern: str) -> URLPattern:
    """Route the remaining paths that begin like this, below /api/v1/."""
    return re_path(rf"^{re.escape(PREFIX)}{pattern}", SpringUnknownRoute.as_view({"get": "answer"}))
