"""The pages of a node in a browser: how they are opened, and what is noted about each."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request, StorageState, ViewportSize

WIDE: "ViewportSize" = {"width": 1400, "height": 900}
NARROW: "ViewportSize" = {"width": 390, "height": 844}
# Of addresses that differ only in their numbers, so many are asked for.
_OF_A_KIND = 1
_PATIENCE_MILLISECONDS = 60_000

OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
# The page, in numbers: widths, colours as the eye gets them, links, and the targets of links.
_MEASURE = """() => {
    const root = document.documentElement;
    const solid = element => {
        for (; element; element = element.parentElement) {
            const colour = getComputedStyle(element).backgroundColor;
            if (!/^rgba\\(.*, 0\\)$|^transparent$/.test(colour)) return colour;
        }
        return "white";
    };
    const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const light = colour => {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
        return (red * 299 + green * 587 + blue * 114) / 255000;
    };
    const heading = document.querySelector("h1, h2") || document.body;
    return {
        overflow: root.scrollWidth - root.clientWidth,
        paper: light(solid(heading)),
        ink: light(getComputedStyle(heading).color),
        links: [...document.querySelectorAll("a[href]")].map(link => link.getAttribute("href")),
        anchors: [...document.querySelectorAll("[id]")].map(element => element.id),
        loaded: performance.getEntriesByType("navigation")[0].loadEventEnd,
    };
}"""


@dataclass
class Faults:
    """What is wrong, as lines that name the page."""

    lines: list[str] = field(default_factory=list)

    def add(self, *parts: object) -> None:
        self.lines.append(" ".join(map(str, parts)))


class Site:
    """The pages of a node. Whatever the browser has to complain about is a line of `complaints`."""

    def __init__(self, browser: "Browser", base: str, password: str) -> None:
        self.base = base
        self.complaints = Faults()
        # Path of each opened page -> its links and the targets within it.
        self.links: dict[str, list[str]] = {}
        self.anchors: dict[str, set[str]] = {}
        self._browser, self._password = browser, password

    @contextmanager
    def opened(self, *, signed_in: bool = True, **options: Any) -> Iterator["Page"]:
        """Yield a tab of a fresh browser, which has nothing in its cache."""
        state: StorageState | None = self._signed_in if signed_in else None
        options = {"viewport": WIDE, "color_scheme": "light", "storage_state": state} | options
        context = self._browser.new_context(base_url=self.base, **options)
        context.set_default_timeout(_PATIENCE_MILLISECONDS)
        yield self._watched(context)
        context.close()

    def visit(self, page: "Page", path: str) -> dict[str, Any]:
        """Open a path and return what is measured there; note its links."""
        response = page.goto(path)
        assert response is not None
        if response.status != 200:
            self.complaints.add(path, "answers", response.status)
        found: dict[str, Any] = page.evaluate(_MEASURE)
        self.links[path] = [urljoin(page.url, link) for link in found["links"]]
        self.anchors[path] = set(found["anchors"])
        return found

    def paths(self, *starts: str) -> list[str]:
        """Return the paths of all links seen so far that begin so, each once."""
        seen = {self._path(link) for links in self.links.values() for link in links}
        return sorted(path for path in seen if path and path.startswith(starts))

    def some_addresses(self) -> list[str]:
        """Return the addresses of all links to this node; of each kind a few."""
        kinds = Counter[str]()
        some = []
        for path in self.paths("/"):
            kind = re.sub(r"0x[0-9a-f]+|\d[\d.-]*", "0", path)
            kinds[kind] += 1
            if kinds[kind] <= _OF_A_KIND:
                some.append(path)
        return some

    def _path(self, link: str) -> str:
        parts = urlsplit(link)
        if f"{parts.scheme}://{parts.netloc}" != self.base:
            return ""
        return f"{parts.path}?{parts.query}" if parts.query else parts.path

    @cached_property
    def _signed_in(self) -> "StorageState":
        """Sign in as a person does, by the keyboard alone; return the browser's cookies."""
        context = self._browser.new_context(base_url=self.base)
        page = self._watched(context)
        page.goto("/admin/login/")
        page.keyboard.type("admin")
        page.keyboard.press("Tab")
        page.keyboard.type(self._password)
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert urlsplit(page.url).path == "/admin/", page.url
        state = context.storage_state()
        context.close()
        return state

    def _watched(self, context: "BrowserContext") -> "Page":
        page = context.new_page()

        def complain(*parts: object) -> None:
            self.complaints.add(urlsplit(page.url).path, *parts)

        def failed(request: "Request") -> None:
            # The browser itself gives up what a page that it leaves has not loaded yet.
            if request.failure != "net::ERR_ABORTED":
                complain("could not load", request.url, request.failure)

        page.on(
            "console",
            lambda said: complain(said.type, said.text) if said.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: complain("threw", error))
        page.on("requestfailed", failed)
        page.on(
            "response", lambda answer: complain(answer.status, answer.url) if answer.status > 399 else None
        )
        return page
