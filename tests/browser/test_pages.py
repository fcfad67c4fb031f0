"""Every page of a node as a person meets it, in a real browser: one node serves all of it.

`pytest -s` prints how long each kind of page took.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.browser.accessibility import broken_rules
from tests.browser.site import NARROW, OVERFLOW, WIDE, Faults, Site

if TYPE_CHECKING:
    from playwright.sync_api import Response

MAX_BYTES = 200_000
#: Pages of each kind, for what takes long to look at.
KINDS = (
    "/",
    "/docs",
    "/docs/operate",
    "/docs/search?q=backup",
    "/api/v1/docs/",
    "/admin/",
    "/admin/ledger/transaction/",
    "/admin/ledger/entity/0.0.1001/",
    "/admin/search/?s=1001",
)
# Focus is visible if the element looks different with it.
_FOCUS = """() => {
    const element = document.activeElement;
    if (!element || element === document.body) return null;
    const look = () => {
        const style = getComputedStyle(element);
        const parts = [style.outlineStyle, style.outlineWidth, style.boxShadow, style.borderColor,
            style.backgroundColor, style.color, style.textDecorationLine];
        return parts.join(" ");
    };
    const focused = look();
    element.blur();
    const blurred = look();
    element.focus();
    const all = window.reachable = window.reachable || [];
    const known = all.includes(element);
    if (!known) all.push(element);
    return {known, visible: focused !== blurred, name: element.outerHTML.slice(0, 120)};
}"""
_REACHABLE = """() => {
    const seen = {visibilityProperty: true, opacityProperty: true};
    const all = "a[href], button, input:not([type=hidden]), select, summary";
    return [...document.querySelectorAll(all)].filter(
        element => element.checkVisibility(seen) && !element.disabled && element.tabIndex >= 0).length;
}"""
# Cells of tables of the documentation in which a line has few words.
_SQUEEZED = """() => [...document.querySelectorAll(".table td")].filter(
    cell => cell.clientWidth < 140 && cell.innerText.length > 60).length"""
# What comes later in a page is reached in the same way.
_MAX_STOPS = 20
# Pages of records have one template.
_RECORD_OF_EVERY = 4


def open_every_page(site: Site, faults: Faults) -> None:
    """No page scrolls sideways: each table's list, records of some, each page of the documentation."""
    with site.opened() as page:
        to_do, done, lists = list(KINDS), list[str](), 0
        while to_do:
            path = to_do.pop(0)
            done.append(path)
            found = site.visit(page, path)
            page.set_viewport_size(NARROW)
            narrow = page.evaluate(OVERFLOW)
            if squeezed := page.evaluate(_SQUEEZED):
                faults.add(path, "squeezes", squeezed, "cells of tables")
            if narrow > 0:
                # Charts are drawn again only a moment after the window has another width.
                page.reload()
                narrow = page.evaluate(OVERFLOW)
            page.set_viewport_size(WIDE)
            for width, overflow in ((WIDE["width"], found["overflow"]), (NARROW["width"], narrow)):
                if overflow > 0:
                    faults.add(path, "scrolls sideways by", overflow, "of", width)
            more = []
            if path == "/docs":
                more = site.paths("/docs/")
            elif path == "/admin/":
                # Tables of history look like those whose history they are.
                tables = [link for link in site.paths("/admin/") if link.count("/") == 4 and "?" not in link]
                more = [link for link in tables if not link.endswith("history/")]
            elif path.startswith("/admin/") and path.count("/") == 4:
                lists += 1
                records = [link for link in site.paths(path) if link.count("/") == 5 and "?" not in link]
                more = records[: lists % _RECORD_OF_EVERY == 1]
            to_do += [link for link in more if link not in (*done, *to_do)]
    assert len(done) > 60


def use_it_with_a_screen_reader_or_weak_eyes(site: Site, faults: Faults) -> None:
    """Landmarks, headings, names, contrast and colours are as WCAG and the system have them."""
    people = (
        "/admin/auth/user/",
        "/admin/auth/user/1/change/",
        "/admin/second-factor/",
        "/admin/admin/logentry/",
    )
    for scheme, viewport in (("light", WIDE), ("dark", NARROW)):
        for signed_in, paths in ((True, (*KINDS, *people)), (False, ("/admin/login/",))):
            with site.opened(color_scheme=scheme, viewport=viewport, signed_in=signed_in) as page:
                for path in paths:
                    found = site.visit(page, path)
                    paper, ink = found["paper"], found["ink"]
                    if not (paper > 0.8 > 0.5 > ink if scheme == "light" else paper < 0.3 < 0.6 < ink):
                        faults.add(path, f"is not {scheme}: ink of {ink:.2f} on paper of {paper:.2f}")
                    for rule in broken_rules(page):
                        faults.add(path, scheme, rule)


def follow_every_link(site: Site, faults: Faults) -> None:
    """Each address answers, and each place within a page exists."""
    with site.opened() as page:
        for address in site.some_addresses():
            status = page.request.get(address, max_redirects=0).status
            if status not in (200, 301, 302):
                faults.add(address, "answers", status)
    for path, links in site.links.items():
        for link in links:
            address, _, anchor = link.removeprefix(site.base).partition("#")
            if anchor and anchor not in site.anchors.get(address, {anchor}):
                faults.add(path, "links to", link, "which is not there")


def open_each_kind_for_the_first_time(site: Site, faults: Faults) -> None:
    """A page with all that it needs is small. Its time is printed only: machines differ."""
    for path in KINDS:
        with site.opened() as page:
            answers: list[Response] = []

            def note(answer: "Response", answers: list["Response"] = answers) -> None:
                answers.append(answer)

            page.on("response", note)
            found = site.visit(page, path)
            page.wait_for_load_state("networkidle")
            size = sum(answer.request.sizes()["responseBodySize"] for answer in answers)
            print(f"{path}: {size / 1000:.0f} kB, loaded in {found['loaded']:.0f} ms")
            if size > MAX_BYTES:
                faults.add(path, "transfers", size, "bytes")


def reach_everything_by_keyboard(site: Site, faults: Faults) -> None:
    """Tab reaches all that a mouse can press, and shows where it is."""
    for path in KINDS:
        with site.opened() as page:
            site.visit(page, path)
            stops = min(page.evaluate(_REACHABLE), _MAX_STOPS)
            for number in range(stops):
                page.keyboard.press("Tab")
                focus = page.evaluate(_FOCUS)
                if not focus or focus["known"]:
                    faults.add(path, "lets Tab reach", number, "of", stops)
                    break
                if not focus["visible"]:
                    faults.add(path, "does not show the focus of", focus["name"])


def open_a_link_by_enter(site: Site, faults: Faults) -> None:
    with site.opened() as page:
        site.visit(page, "/")
        page.get_by_role("link", name="Documentation").first.focus()
        page.keyboard.press("Enter")
        page.wait_for_url(f"{site.base}/docs/")


def search_the_documentation(site: Site, faults: Faults) -> None:
    """It is found without scripts, by the keyboard, and a result leads to its heading."""
    with site.opened(java_script_enabled=False) as page:
        page.goto("/docs/operate")
        page.get_by_role("searchbox", name="Search the documentation").fill("the second factor")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{site.base}/docs/search?q=the+second+factor")
        page.get_by_role("main").get_by_role("listitem").first.get_by_role("link").click()
        page.wait_for_url(f"{site.base}/docs/operate#the-second-factor")


def filter_the_requests_of_the_api(site: Site, faults: Faults) -> None:
    """Typing shows the requests with that path or title; a link to another one shows all again."""
    with site.opened() as page:
        site.visit(page, "/api/v1/docs/")
        requests, box = (
            page.locator(".request"),
            page.get_by_role("searchbox", name="Filter by path or title"),
        )
        count = requests.count()
        box.fill("account AIRDROPS")
        shown = [each.inner_text().split()[1] for each in requests.all() if each.is_visible()]
        if shown != [f"/api/v1/accounts/{{id}}/airdrops/{kind}" for kind in ("outstanding", "pending")]:
            faults.add("the filter shows", shown)
        if page.get_by_role("heading", name="Blocks").count():
            faults.add("a subject without requests is shown")
        box.fill("there is no such request")
        page.get_by_text("0 requests").wait_for()
        page.evaluate("location.hash = document.querySelector('.request').id")
        requests.first.wait_for()
        if requests.filter(visible=True).count() != count:
            faults.add("a link does not end the filter")


def show_the_requests_in_swagger_ui(site: Site, faults: Faults) -> None:
    """It lists the requests, by files of this node alone."""
    with site.opened() as page:
        hosts = set[str]()
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        page.goto("/api/v1/docs/swagger/")
        page.locator(".opblock-summary-path").first.wait_for()
        # Images in style sheets have no host.
        if hosts - {urlsplit(site.base).netloc, ""}:
            faults.add("Swagger UI requests", *hosts)


def search_by_keyboard(site: Site, faults: Faults) -> None:
    """The search opens by its key, closes by Escape, and leads to what is typed, by arrow and Enter."""
    with site.opened() as page:
        site.visit(page, "/admin/")
        dialog = page.get_by_role("dialog", name="Search everything")
        box = dialog.locator("input:focus")
        page.keyboard.press("Control+k")
        box.wait_for()
        page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")
        page.keyboard.press("Control+k")
        box.wait_for()
        page.keyboard.type("0.0.1001")
        dialog.get_by_role("link").first.wait_for()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{site.base}/admin/ledger/entity/0.0.1001/")


PARTS: tuple[Callable[[Site, Faults], None], ...] = (
    open_every_page,
    use_it_with_a_screen_reader_or_weak_eyes,
    follow_every_link,
    open_each_kind_for_the_first_time,
    reach_everything_by_keyboard,
    open_a_link_by_enter,
    search_the_documentation,
    filter_the_requests_of_the_api,
    show_the_requests_in_swagger_ui,
    search_by_keyboard,
)


def test_a_person_can_use_every_page(site: Site, subtests: pytest.Subtests) -> None:
    for part in PARTS:
        with subtests.test(part.__name__.replace("_", " ")):
            faults = Faults()
            part(site, faults)
            assert faults.lines == []
    assert site.complaints.lines == []
