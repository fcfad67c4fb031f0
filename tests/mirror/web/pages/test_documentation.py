"""GET /docs/ and the pages below it."""

import re
from collections import Counter
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

from mirror.web.pages import markdown
from mirror.web.pages.documentation import FOLDER, INDEX

NAMES = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != INDEX)
MAX_BYTES = 200_000


def read(client, path: str) -> str:
    answer = client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "unsafe" not in answer.headers["content-security-policy"]
    return str(answer.content.decode())


def test_the_index_lists_every_page_once(client) -> None:
    listed = [
        name for group in markdown.groups((FOLDER / f"{INDEX}.md").read_text()) for _, name in group.pages
    ]
    assert sorted(listed) == NAMES
    page = read(client, "/docs/")
    assert all(page.count(f'href="/docs/{name}"') >= 2 for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_link_of_a_page_leads_to_a_page_and_to_a_heading_of_it(client, name: str) -> None:
    page = read(client, f"/docs/{name}")
    assert len(page) < MAX_BYTES
    for target in set(re.findall(r'href="(/docs/[^"]*|#[^"]*)"', page)):
        path, _, heading = target.partition("#")
        assert not heading or f'id="{heading}"' in (read(client, path) if path else page), target
    assert ".md" not in "".join(re.findall(r'href="([^"]*)"', page))
    assert page.count("<h1>") == 1


@pytest.mark.parametrize(
    ("path", "place"), [("docs", ""), ("docs/lists.md", "lists"), ("docs/lists/", "lists")]
)
def test_links_as_code_hosts_have_them_lead_to_the_page(client, path: str, place: str) -> None:
    assert client.get(f"/{path}").headers["location"] == f"/docs/{place}"


def test_a_name_that_no_file_can_have_is_no_page(client) -> None:
    for name in ("x", "README", "x" * 255):
        assert client.get(f"/docs/{name}").status_code == 404


def test_browsers_keep_a_page_and_ask_whether_it_is_new(client) -> None:
    answer = client.get("/docs/lists")
    assert answer.headers["cache-control"] == "public, max-age=60"
    again = client.get("/docs/lists", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_commands_name_the_node_that_is_asked(client) -> None:
    page = client.get("/docs/tour", headers={"host": "node.example.org:5551"}).content.decode()
    assert page.count("http://node.example.org:5551/api/v1/") > 3
    assert "127.0.0.1:8000" not in page


def test_commands_name_the_address_of_a_trusted_proxy(api, settings_of) -> None:
    settings_of({"web.trustedProxies": ("127.0.0.1",)})
    headers = {
        "x_forwarded_proto": "https",
        "x_forwarded_host": "mirror.example.org",
        "x_forwarded_prefix": "/testnet",
    }
    page = api.get("/docs/tour", **headers).body.decode()
    assert "https://mirror.example.org/testnet/api/v1/" in page


def test_blocks_of_code_wrap_and_have_a_copy_button(client) -> None:
    page = read(client, "/docs/tour")
    assert page.count('<div class="code"><pre') == page.count(">Copy</button>") > 3
    assert '<script src="/static/mirror/docs.js' in page
    css = Path(str(finders.find("mirror/pages.css"))).read_text()
    assert re.search(r"^pre \{ white-space: pre-wrap;", css, re.M)


def test_markdown_becomes_html_without_any_html_of_its_own() -> None:
    page = markdown.render(
        "# A <b>\n\nSay `<i>` or <script>.\n\n    curl <this>\n\n| A | B |\n|---|---|\n| 1<br>2 | 3 |\n"
    )
    assert page.title == "A <b>"
    assert "<code>&lt;i&gt;</code> or &lt;script&gt;." in page.html
    assert '<pre tabindex="0"><code>curl &lt;this&gt;\n</code></pre>' in page.html
    assert '<div class="table" tabindex="0"><table>' in page.html
    assert "<td>1<br>2</td>" in page.html
    # A line may end in a long name.
    assert "<code>web.<wbr>sdkPorts</code>" in markdown.render("# A\n`web.sdkPorts`\n").html
    assert "<code>manage.py up</code>" in markdown.render("# A\n`manage.py up`\n").html


@pytest.mark.parametrize(
    ("target", "leads_to"),
    [
        ("settings.md", "/docs/settings"),
        ("settings.md#web", "/docs/settings#web"),
        ("README.md", "/docs/"),
        ("#below", "#below"),
        ("http://127.0.0.1:8000/api/v1/docs/", "/api/v1/docs/"),
        ("https://example.org/a.md", "https://example.org/a.md"),
    ],
)
def test_links_lead_to_the_pages_here(target: str, leads_to: str) -> None:
    assert markdown.resolve_link(target) == leads_to


def found(client, query: str, **headers: str) -> list[tuple[str, str, str]]:
    """Return the address, title and excerpt of each result."""
    answer = client.get("/docs/search", {"q": query}, headers=headers)
    assert answer.status_code == 200
    return re.findall(r'<li><a href="([^"]*)">(.*?)</a><p>(.*?)</p></li>', answer.content.decode(), re.S)


def test_search_finds_sections_with_all_the_words(client) -> None:
    results = found(client, "SECOND   factor")

    address, title, excerpt = results[0]
    assert (address, title) == ("/docs/operate#the-second-factor", "Operate a node: The second factor")
    assert excerpt.startswith("&quot;<mark>Second</mark> <mark>factor</mark>&quot; in the menu of your name")
    for address, _, _ in results:
        path, _, heading = address.partition("#")
        assert not heading or f'id="{heading}"' in read(client, path), address
    assert found(client, "second nosuchword") == found(client, "") == found(client, "  ") == []


@pytest.mark.parametrize("name", NAMES)
def test_search_finds_every_page_by_its_title(client, name: str) -> None:
    listed = {
        page: text
        for group in markdown.groups((FOLDER / f"{INDEX}.md").read_text())
        for text, page in group.pages
    }[name]
    assert (f"/docs/{name}", listed) in [result[:2] for result in found(client, listed)]


def test_search_finds_names_code_and_cells_of_tables(client) -> None:
    for query in ("svc.mirror.web.port", "manage.py backup /backups/monday", "mirror_importer"):
        assert any("<mark>" in excerpt for _, _, excerpt in found(client, query)), query


def test_search_escapes_what_is_typed_and_what_is_found(client) -> None:
    page = client.get("/docs/search", {"q": "\"><script>alert('1')</script>\u202e"}).content.decode()
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert 'value="&quot;&gt;&lt;script&gt;' in page
    # No entity is taken for text: `amp` and `quot` are in those of the excerpt.
    for query in ("quot", "amp", "lt", ".*", "(", "\\", "&", "x" * 5000):
        for _, _, excerpt in found(client, query):
            assert not re.search(r"&<mark>|&\w*<mark>", excerpt), query


def test_search_shows_thirty_sections_and_how_many_there_are(client) -> None:
    page = client.get("/docs/search?q=the").content.decode()
    assert len(found(client, "the")) == 30
    assert re.search(r"\d{3} sections with “the”; these are the first 30", page)


def test_excerpts_name_the_node_that_is_asked(client) -> None:
    excerpts = " ".join(excerpt for *_, excerpt in found(client, "curl", host="node.example.org:5551"))
    assert "http://node.example.org:5551/" in excerpts
    assert "127.0.0.1:8000" not in excerpts


def test_search_is_a_form_of_every_page_that_browsers_may_send(client) -> None:
    for path in ("/docs/", "/docs/lists", "/docs/search?q=lists"):
        answer = client.get(path)
        assert '<form class="search" role="search" action="/docs/search">' in answer.content.decode()
        assert "form-action 'self'" in answer.headers["content-security-policy"]
    assert "Disallow: /docs/search" in client.get("/robots.txt").getvalue().decode()
    # It would hide a page of this name.
    assert "search" not in NAMES


def test_headings_are_named_as_code_hosts_name_them() -> None:
    before: Counter[str] = Counter()
    names = [markdown.anchor(each, before) for each in ("Is all well?", "Where is ...?", "Is all well?")]
    assert names == ["is-all-well", "where-is-", "is-all-well-1"]
    page = markdown.render("# T\n\n## The `up` command\n\n### Not *a* part\n")
    assert page.sections == [markdown.Heading("the-up-command", "The up command")]
    assert 'id="not-a-part"' in page.html
