"""The pages of mirror/docs as HTML, by markdown-it.

Links between pages are written for code hosts (`settings.md#web`), and lead to the same pages below /docs/.
Headings have the names by which code hosts link to them.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.html import escape
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

#: The node's address in the pages.
EXAMPLE_ADDRESS = "http://127.0.0.1:8000"
_PAGE_LINK = re.compile(r"^([\w-]+)\.md(?=#|$)")
_INDEX = "README"
# The places in a name at which a line may end.
_BREAKS = re.compile(r"(?<=[A-Za-z0-9}][./_])(?=[A-Za-z{])")


@dataclass(frozen=True)
class Heading:
    name: str
    text: str


@dataclass(frozen=True)
class Page:
    """A page: its first heading, the HTML of all that follows it, and the headings of its sections."""

    title: str
    html: str
    sections: Sequence[Heading]


@dataclass(frozen=True)
class Group:
    """Pages that the index lists together: their name and title."""

    title: str
    pages: Sequence[tuple[str, str]]


def render(text: str) -> Page:
    """Return a page, whose first line is its heading."""
    first, _, rest = text.partition("\n")
    tokens = _MARKDOWN.parse(rest)
    sections = [heading for opening, heading in _name_headings(tokens) if opening.tag == "h2"]
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    # Cells of tables have no other way to begin a line.
    return Page(first.lstrip("# "), html.replace("&lt;br&gt;", "<br>"), sections)


def passages(text: str) -> Iterator[tuple[Heading | None, str]]:
    """Yield the headings of a page, each with the text below it; None has the text above all of them."""
    tokens = _MARKDOWN.parse(text.partition("\n")[2])
    headings = iter([heading for _, heading in _name_headings(tokens)])
    heading, texts = None, [""]
    for token in tokens:
        if token.type == "heading_open":
            yield heading, " ".join(texts[1:])
            heading, texts = next(headings), []
        elif token.type in ("inline", "fence", "code_block"):
            # The first text is that of the heading itself.
            parts = [" " if part.type == "softbreak" else part.content for part in token.children or (token,)]
            texts.append("".join(parts).replace("<br>", " "))
    yield heading, " ".join(texts[1:])


def groups(index: str) -> list[Group]:
    return [
        Group(title, re.findall(r"^- \[(.+?)\]\(([\w-]+)\.md\)", pages, re.M))
        for title, pages in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", index, re.M | re.S)
    ]


def resolve_link(target: str) -> str:
    """Return a link as it leads somewhere below /docs/."""
    if target.startswith(f"{EXAMPLE_ADDRESS}/"):
        return target.removeprefix(EXAMPLE_ADDRESS)
    return _PAGE_LINK.sub(lambda page: "/docs/" if page[1] == _INDEX else f"/docs/{page[1]}", target)


def anchor(heading: str, before: Counter[str]) -> str:
    """Return the name that code hosts give to a heading; `before` counts those above it."""
    name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    before[name] += 1
    return name if before[name] == 1 else f"{name}-{before[name] - 1}"


class _Renderer(RendererHTML):
    """The HTML of the pages. Tables scroll sideways, by the keys too."""

    def table_open(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return '<div class="table" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return "</table></div>\n"

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        tokens[idx].attrSet("href", resolve_link(str(tokens[idx].attrGet("href"))))
        return str(self.renderToken(tokens, idx, options, env))

    def fence(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        code = f'<pre tabindex="0"><code>{escape(tokens[idx].content)}</code></pre>'
        return f'<div class="code">{code}<button type="button" hidden>Copy</button></div>\n'

    code_block = fence  # type: ignore[assignment]

    def code_inline(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        """Let a line end within a long name, after a dot, a slash or an underscore."""
        text = escape(tokens[idx].content)
        return f"<code>{text if ' ' in text else _BREAKS.sub('<wbr>', text)}</code>"


_MARKDOWN = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table")


def _name_headings(tokens: Sequence[Token]) -> Iterator[tuple[Token, Heading]]:
    """Name each heading, add a link to itself, and yield it with its first token."""
    before: Counter[str] = Counter()
    for opening, inline in zip(tokens, tokens[1:], strict=False):
        if opening.type != "heading_open":
            continue
        children = inline.children or []
        text = "".join(child.content for child in children)
        name = anchor(text, before)
        opening.attrSet("id", name)
        link = Token("link_open", "a", 1)
        link.attrs = {"href": f"#{name}", "class": "anchor"}
        inline.children = [link, *children, Token("link_close", "a", -1)]
        yield opening, Heading(name, text)
