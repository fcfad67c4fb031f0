"""The picture of the layers in `mirror/docs/architecture.svg`, drawn from the layers of import-linter.

`make architecture` writes it anew.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "mirror" / "docs" / "architecture.svg"

# What each part is, in a few words.
PARTS = {
    "mirror.urls": "all addresses",
    "mirror.management": "commands of manage.py",
    "mirror.web": "web server, pages",
    "mirror.start": "the start of a node, its supervisor",
    "mirror.node": "loaders, health, admin, PostgreSQL",
    "mirror.operations": "backup, snapshot, pruning",
    "mirror.upgrade": "tables, backfills",
    "mirror.demo": "the simulated network",
    "web3sim": "contract calls",
    "contracts": "results, logs, actions",
    "tokens": "tokens, NFTs, airdrops",
    "network": "nodes, stakes, rates, fees",
    "ledger": "stream files, ingest, proofs; blocks, transactions, accounts, topics",
    "mirror.core.rest": "HTTP: parameters, paging, answers",
    "mirror.core.admin": "the read-only admin",
    "mirror.core.db": "PostgreSQL: SQL, COPY, partitions, replicas",
    "mirror.core.metrics": "what is counted",
    "mirror.core.logs": "the log",
    "mirror.core.processes": "signals, deaths, progress",
    "mirror.core.config": "settings",
    "mirror.core.values": "ids, timestamps, keys, HAPI",
}
WIDTH, MARGIN, GAP = 900, 24, 8
HEIGHT, CORE_HEIGHT, HEAD = 46, 38, 34
INK, FAINT, PAPER, PRODUCT, APPS, CORE, FRAME = (
    "#16202e", "#556275", "#ffffff", "#dbe7ff", "#d9f2e3", "#fdf0d5", "#b9c3d0",
)  # fmt: skip


def layers() -> list[list[str]]:
    """The modules of each layer, from top to bottom."""
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return [re.split(r" [|:] ", layer) for layer in linter["contracts"][0]["layers"]]


def picture() -> str:
    boxes = list(_boxes())
    height = boxes[-1][0] + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="system-ui, sans-serif" role="img">',
        "<title>The layers of Ledger Mirror: each imports only those below it</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
        _text(MARGIN, MARGIN, "Each layer imports only the layers below it", 13, FAINT),
        *(box for _, box in boxes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _boxes() -> Iterator[tuple[int, str]]:
    """The lower edge of each box, and its drawing."""
    top = MARGIN + 12
    in_core = False
    for layer in layers():
        if layer[0].startswith("mirror.core.") and not in_core:
            in_core = True
            top += HEAD - GAP
            yield top, _text(MARGIN, top - 6, "mirror.core: the kit below every app, imports none", 13, FAINT)
        height = CORE_HEIGHT if in_core else HEIGHT
        colour = CORE if in_core else PRODUCT if layer[0].startswith("mirror.") else APPS
        width = (WIDTH - 2 * MARGIN - GAP * (len(layer) - 1)) / len(layer)
        for place, name in enumerate(layer):
            yield top + height, _box(MARGIN + place * (width + GAP), top, width, height, name, colour)
        top += height + GAP


def _box(left: float, top: float, width: float, height: float, name: str, colour: str) -> str:
    middle = left + width / 2
    return "\n".join(
        [
            f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{height}" rx="6" fill="{colour}" '
            f'stroke="{FRAME}"/>',
            _text(middle, top + height / 2 - 3, name, 14, INK, 'text-anchor="middle" font-weight="600"'),
            _text(middle, top + height / 2 + 13, PARTS[name], 12, FAINT, 'text-anchor="middle"'),
        ]
    )


def _text(left: float, top: float, text: str, size: int, colour: str, more: str = "") -> str:
    attributes = f'x="{left:.0f}" y="{top:.0f}" font-size="{size}" fill="{colour}" {more}'.strip()
    return f"<text {attributes}>{escape(text)}</text>"


if __name__ == "__main__":
    PICTURE.write_text(picture())
