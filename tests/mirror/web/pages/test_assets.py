"""The files of the admin, compressed."""

import brotli
import pytest
from django.test import Client


@pytest.mark.parametrize(("accepted", "encoding"), [("br, gzip", "br"), ("gzip", "gzip"), ("", None)])
def test_a_style_sheet_is_sent_in_the_encoding_that_the_browser_prefers(
    accepted: str, encoding: str | None
) -> None:
    answer = Client().get("/static/unfold/css/styles.css", headers={"accept-encoding": accepted})

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert answer.headers.get("content-encoding") == encoding
    assert len(answer.content) < 50_000 or encoding is None


def test_a_compressed_script_is_the_file_itself_and_is_kept_by_the_browser() -> None:
    plain = Client().get("/static/unfold/js/app.js")
    small = Client().get("/static/unfold/js/app.js", headers={"accept-encoding": "br"})
    again = Client().get(
        "/static/unfold/js/app.js",
        headers={"accept-encoding": "br", "if-none-match": small.headers["etag"]},
    )

    assert brotli.decompress(small.content) == plain.content
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["css/no.css", "../mirror/admin.css", "x.html", "css/%2e%2e/a.js"])
def test_any_other_path_is_not_found(path: str) -> None:
    assert Client().get(f"/static/unfold/{path}").status_code == 404
