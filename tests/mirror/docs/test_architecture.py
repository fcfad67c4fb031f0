"""The page about the architecture: its picture, every folder of the tree, and where to find things."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from django.conf import settings

from tests.architecture import PICTURE, layers, picture

PAGE = Path(settings.BASE_DIR, "mirror", "docs", "architecture.md").read_text()
# The folders that every app has are listed once, in ledger.
OF_EVERY_APP = {"admin", "api", "backfills", "handlers", "models", "queries", "migrations"}
APPS = ("contracts", "tokens", "network")


def listed() -> Iterator[str]:
    above: list[str] = []
    tree = PAGE.partition("## Folders")[2].partition("## ")[0]
    for indent, names in re.findall(r"^    ( *)((?:\w+/(?:, )?)+)", tree, re.M):
        del above[len(indent) // 2 :]
        for name in names.split(", "):
            yield "/".join([*above, name.strip("/")])
        above.append(names.strip("/"))


def folders() -> Iterator[str]:
    """The folders of our source, but for those below `tests`, which mirror them."""
    for top in ("mirror", "ledger", *APPS, "web3sim"):
        yield top
        for path in Path(settings.BASE_DIR, top).rglob("*"):
            if path.is_dir() and any(path.glob("*.*")) and "__pycache__" not in path.parts:
                yield str(path.relative_to(settings.BASE_DIR))


def test_every_folder_has_a_line() -> None:
    lines = set(listed())
    missing = {
        folder
        for folder in set(folders()) - lines
        if not (folder.split("/")[0] in APPS and folder.split("/")[1] in OF_EVERY_APP)
        and not folder.startswith(("mirror/static/", "mirror/templates/"))
        and not folder.endswith("/migrations")
    }

    assert missing == set()


def test_every_line_is_of_a_folder() -> None:
    assert [folder for folder in listed() if not Path(settings.BASE_DIR, folder).is_dir()] == []


def test_paths_to_look_into_exist() -> None:
    paths = re.findall(r"\| `([\w/.]+)` \|$", PAGE, re.M)

    assert len(paths) >= 40
    assert [path for path in paths if not Path(settings.BASE_DIR, path).exists()] == []


def test_picture_shows_the_layers_of_import_linter_in_their_order() -> None:
    texts = [element.text for element in ElementTree.fromstring(PICTURE.read_text()).iter() if element.text]
    modules = [module for layer in layers() for module in layer]

    assert [text for text in texts if text in modules] == modules
    assert PICTURE.read_text() == picture(), "draw it anew: make architecture"


def test_page_at_docs_shows_the_picture(client) -> None:
    assert '<img src="architecture.svg"' in client.get("/docs/architecture").content.decode()
    shown = client.get("/docs/architecture.svg")
    assert (shown.headers["content-type"], shown.getvalue().decode()) == ("image/svg+xml", picture())
