"""GET /docs/ and /docs/{page}: the pages of mirror/docs, rendered at the first request and cached.

Their list on each page is that of the index, README.md. Commands in a page name the address of the node that
serves it.
"""

from functools import cache
from pathlib import Path

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.html import escape
from django.views.decorators.http import require_safe

from mirror.core.config import reverse_proxies
from mirror.web.pages import answer

FOLDER = Path(__file__).parents[2] / "docs"
INDEX = "README"

MAX_AGE_SECONDS = 60
# A page with so many sections has a list of them.
_LONG_SECTIONS = 3


@require_safe
def documentation(request: HttpRequest, name: str = "") -> HttpResponse:
    """Show a page; the index without `name`. Errors: Http404."""
    return answer.page(escape(node_address(request)).join(_html(name)), max_age=MAX_AGE_SECONDS)


def node_address(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}{reverse_proxies.prefix(request.META)}"


@cache
def _html(name: str) -> list[str]:
    """Return a page, cut where the address of the node goes."""
    # Most processes never serve a page.
    from mirror.web.pages import markdown

    path = FOLDER / f"{name or INDEX}.md"
    # The file system itself fails for a name that is too long.
    if name == INDEX or path not in FOLDER.glob("*.md"):
        raise Http404
    groups = markdown.groups((FOLDER / f"{INDEX}.md").read_text())
    order = [page for group in groups for page in group.pages]
    index = next((place for place, (_, page) in enumerate(order) if page == name), -1)
    page = markdown.render(path.read_text())
    is_long = bool(name) and len(page.sections) >= _LONG_SECTIONS
    context = {
        "page": page,
        "parts": page.sections if is_long else (),
        "name": name,
        "groups": groups,
        "previous": order[index - 1] if index > 0 else None,
        "next": order[index + 1] if index + 1 < len(order) else None,
    }
    return answer.html("documentation.html", context).split(markdown.EXAMPLE_ADDRESS)
