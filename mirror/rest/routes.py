"""One line per endpoint: its documented path and its view.

Classic paths match in any case and with one trailing slash. Newer paths match exactly; `id="..."` narrows a
part of the path to a pattern, and what does not match is an unknown route.
"""

import re

from django.urls import URLPattern, re_path

from mirror.rest.views import NewerReadView, ReadView, UnknownRoute

PREFIX = "api/v1/"

_PART = re.compile(r"\{(\w+)\}")
_ANY = "[^/]+"


def route(path: str, view: type[ReadView], **patterns: str) -> URLPattern:
    """`path` is written as documented, below /api/v1/: `blocks/{hashOrNumber}`; the view gets
    `hash_or_number`.
    """
    pattern = ""
    for position, piece in enumerate(_PART.split(path)):
        if position % 2:
            name = snake_case(piece)
            pattern += f"(?P<{name}>{patterns.get(name, _ANY)})"
        else:
            pattern += re.escape(piece)
    if issubclass(view, NewerReadView):
        regex = rf"^{re.escape(PREFIX)}{pattern}\Z"
    else:
        regex = rf"^(?i:{re.escape(PREFIX)}{pattern}/?)\Z"
    return re_path(regex, view.as_view({"get": "answer"}), name=path)


def snake_case(name: str) -> str:
    return re.sub("([A-Z])", lambda letter: "_" + letter[1].lower(), name)


def unknown_route() -> URLPattern:
    """The last line: all other paths."""
    return re_path("", UnknownRoute.as_view({"get": "answer"}))
