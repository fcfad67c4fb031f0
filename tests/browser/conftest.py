"""A real browser, and a node on the demo ledger for it."""

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.site import Site
from tests.node import Node

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_BLOCKS = "20"


@pytest.fixture
def browser() -> Iterator["Browser"]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no Chromium: `apt-get install chromium` installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium's sandbox refuses to work for root, and opens only our own pages here.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def site(browser: "Browser", node: Node, tables: None) -> Iterator[Site]:
    """Yield the pages of a node on the demo ledger, in a browser in which the operator is signed in."""
    node.start("up", SVC_MIRROR_DEMO_BLOCKS=_BLOCKS)
    password = (node.folder / "admin-password").read_text().strip()
    yield Site(browser, f"http://127.0.0.1:{node.port}", password)
