"""The files of the admin, compressed."""

import gzip

import pytest
from django.test import Client


@pytest.mark.parametrize(("accepted", "encoding"), [("br, gzip", "gzip"), ("", None)])
def test_files_are_compressed_for_browsers_that_take_it_and_cached_by_them(
    accepted: str, encoding: str | None
) -> None:
    plain = Client().get("/static/unfold/css/styles.css").getvalue()
    answer = Client().get("/static/unfold/css/styles.css", headers={"accept-encoding": accepted})
    since = {"if-modified-since": answer.headers["last-modified"]}

    body = answer.getvalue()
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/css")
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert answer.headers.get("content-encoding") == encoding
    assert (gzip.decompress(body) if encoding else body) == plain
    assert len(body) < 50_000 or encoding is None
    assert Client().get("/static/unfold/css/styles.css", headers=since).status_code == 304


@pytest.mark.parametrize("path", ["css/no.css", "../../settings.py", "x.html", "css", "css/%2e%2e/no.js"])
def test_any_other_path_is_not_found(path: str) -> None:
    assert Client().get(f"/static/unfold/{path}").status_code == 404


def test_a_compressed_picture_states_no_length() -> None:
    answer = Client().get("/favicon.svg", headers={"accept-encoding": "gzip"})

    assert gzip.decompress(answer.getvalue()).startswith(b"<svg")
    assert answer.headers["content-encoding"] == "gzip"
    assert "content-length" not in answer.headers
