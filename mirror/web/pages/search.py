"""GET /docs/search?q=...: the sections of the pages of mirror/docs with all words in their text or title.

The pages are read at the first search of a process, and their text is cached.
"""

import re
from collections.abc import Sequence
from functools import cache

from django.http import HttpRequest, HttpResponse
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from mirror.web.pages import answer
from mirror.web.pages.documentation import FOLDER, INDEX, MAX_AGE_SECONDS, node_address

_MAX_CHARACTERS, _MAX_RESULTS = 100, 30
# Characters of an excerpt before what is searched, and from there on.
_BEFORE, _AFTER = 80, 200


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    # Most processes never serve a page.
    from mirror.web.pages import markdown

    groups = markdown.groups((FOLDER / f"{INDEX}.md").read_text())
    query = request.GET.get("q", "")[:_MAX_CHARACTERS].strip()
    words = query.lower().split()
    found = [
        section
        for section in _sections()
        if words and all(word in " ".join(section[1:]).lower() for word in words)
    ]
    # Those that are about it come first.
    found.sort(key=lambda section: -sum(word in section[1].lower() for word in words))
    address = node_address(request)
    results = [
        (link, title, _excerpt(text.replace(markdown.EXAMPLE_ADDRESS, address), words))
        for link, title, text in found[:_MAX_RESULTS]
    ]
    context = {"query": query, "name": "search", "groups": groups, "count": len(found), "results": results}
    return answer.page(answer.html("search.html", context), max_age=MAX_AGE_SECONDS)


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
        for group in markdown.groups((FOLDER / f"{INDEX}.md").read_text())
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
