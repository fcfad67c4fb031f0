"""The page of the API lists the requests that there are, and the addresses in all pages are answered."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import URLPattern, get_resolver, resolve

from mirror.core.rest.schema.table import as_markdown
from mirror.core.rest.views import UnknownRoute

FOLDER = Path(settings.BASE_DIR, "mirror", "docs")
# Of addresses, not addresses.
BEGINNINGS = {"/health", "/static", "/static/", "/api/v1", "/api/v1/"}
ALL = "\n".join(path.read_text() for path in sorted(FOLDER.glob("*.md")))


def test_the_page_lists_the_requests_as_they_are():
    assert (FOLDER / "api.md").read_text().endswith(as_markdown()), (
        "print the tables anew, from the first one to the end: python -m mirror.core.rest.schema.table"
    )


def test_the_request_and_the_error_shown_are_answered_so(api):
    page = (FOLDER / "api.md").read_text()
    (shown,) = re.findall(r"curl -s 'http://127\.0\.0\.1:8000(\S+)'", page)
    assert api.get(shown).status == 200
    (error,) = re.findall(r"^    (\{\"_status.*)$", page, re.M)
    assert api.get("/api/v1/blocks?limit=x").messages == [re.findall(r'"message": "([^"]+)"', error)[0]]


def addresses() -> Iterator[str]:
    """Yield the addresses of the node that the pages name, without their queries."""
    named = re.findall(r"`(?:(?:GET|POST) )?(/(?:api/v1|health|metrics|docs|admin|static)[^`\s]*)`", ALL)
    whole = {each.partition("?")[0] for each in named if "..." not in each and "*" not in each}
    yield from sorted(whole - BEGINNINGS)


@pytest.mark.parametrize("path", list(addresses()))
def test_every_address_named_is_one_of_the_node(path):
    match = resolve(re.sub(r"\{\w+\}", "0.0.1", path))
    assert getattr(match.func, "cls", None) is not UnknownRoute


def test_every_address_of_the_node_outside_the_api_is_named():
    plain = [
        f"/{pattern.pattern}" for pattern in get_resolver().url_patterns if isinstance(pattern, URLPattern)
    ]
    routes = {path.rstrip("/") or "/" for path in plain if re.fullmatch(r"[\w/.-]+", path)}
    assert routes >= {"/", "/docs", "/health/liveness", "/metrics", "/robots.txt"}
    assert [path for path in sorted(routes) if f"`{path}`" not in ALL and f"`{path}/`" not in ALL] == []
