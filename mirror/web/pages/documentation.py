"""The pages of mirror/docs, rendered at the first request and cached, and the search in them.

Their list on each page is that of the index, README.md. Commands in a page name the address of the node that
serves it.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.html import conditional_escape, escape, format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from mirror.core.config import reverse_proxies
from mirror.web.pages import answer

if TYPE_CHECKING:
    from mirror.web.pages import markdown

FOLDER = Path(__file__).parents[2] / "docs"
INDEX = "README"

_MAX_AGE_SECONDS = 60
# A page with so many sections has a list of them.
_LONG_SECTIONS = 3
_MAX_CHARACTERS, _MAX_RESULTS = 100, 30
# Characters of an excerpt before what is searched, and from there on.
_BEFORE, _AFTER = 80, 200


@require_safe
def documentation(request: HttpRequest, name: str = "") -> HttpResponse:
    """GET /docs/ and /docs/{page}. Errors: Http404."""
    return answer.page(escape(_node_address(request)).join(_html(name)), max_age=_MAX_AGE_SECONDS)


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """GET /docs/search?q=...: the sections with all words in their text or title."""
    from mirror.web.pages import markdown

    query = request.GET.get("q", "")[:_MAX_CHARACTERS].strip()
    words = query.lower().split()
    found = [
        section
        for section in _sections()
        if words and all(word in " ".join(section[1:]).lower() for word in words)
    ]
    # Those that are about it come first.
    found.sort(key=lambda section: -sum(word in section[1].lower() for word in words))
    address = _node_address(request)
    results = [
        (link, title, _excerpt(text.replace(markdown.EXAMPLE_ADDRESS, address), words))
        for link, title, text in found[:_MAX_RESULTS]
    ]
    context = {"query": query, "name": "search", "groups": _groups(), "count": len(found), "results": results}
    return answer.page(answer.html("search.html", context), max_age=_MAX_AGE_SECONDS)


def _node_address(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}{reverse_proxies.prefix(request.META)}"


@cache
def _html(name: str) -> list[str]:
    """Return a page, cut where the address of the node goes; the index without `name`."""
    # Most processes never serve a page.
    from mirror.web.pages import markdown

    path = FOLDER / f"{name or INDEX}.md"
    # The file system itself fails for a name that is too long.
    if name == INDEX or path not in FOLDER.glob("*.md"):
        raise Http404
    order = [page for group in _groups() for page in group.pages]
    index = next((place for place, (_, page) in enumerate(order) if page == name), -1)
    page = markdown.render(path.read_text())
    is_long = bool(name) and len(page.sections) >= _LONG_SECTIONS
    context = {
        "page": page,
        "parts": page.sections if is_long else (),
        "name": name,
        "groups": _groups(),
        "previous": order[index - 1] if index > 0 else None,
        "next": order[index + 1] if index + 1 < len(order) else None,
    }
    return answer.html("documentation.html", context).split(markdown.EXAMPLE_ADDRESS)


@cache
def _groups() -> "list[markdown.Group]":
    from mirror.web.pages import markdown

    return markdown.groups((FOLDER / f"{INDEX}.md").read_text())


@cache
def _sections() -> Sequence[tuple[str, str, str]]:
    """Return the link, title and text of each section, in the order of the index."""
    from mirror.web.pages import markdown

    return [
        (
            f"/docs/{name}#{heading.name}" if heading else f"/docs/{name}",
            f"{title}: {heading.text}" if heading else title,
            text,
        )
        for group in _groups()
        for title, name in group.pages
        for heading, text in markdown.passages((FOLDER / f"{name}.md").read_text())
    ]


def _excerpt(text: str, words: Sequence[str]) -> SafeString:
    """Return the text around the words, if they stand together, or else around the first; all are marked."""
    pattern = re.compile(f"({'|'.join(map(re.escape, words))})", re.IGNORECASE)
    first = re.search(re.escape(" ".join(words)), text, re.IGNORECASE) or pattern.search(text)
    begin = max(first.start() - _BEFORE, 0) if first else 0
    end = begin + _BEFORE + _AFTER
    parts = [
        format_html("<mark>{}</mark>", part) if place % 2 else conditional_escape(part)
        for place, part in enumerate(pattern.split(text[begin:end]))
    ]
    return SafeString("".join(["…" * (begin > 0), *parts, "…" * (end < len(text))]))
