import io

import pytest
from django.core.handlers.wsgi import WSGIRequest
from rest_framework.request import Request

from mirror.core.rest.answers.errors import BadRequest, TooLarge, UnsupportedMediaType
from mirror.core.rest.parameters.bodies import read_body

KINDS = ("application/json", "text/x")


def request(body: bytes, content_type: str | None = "text/x", **environ: str) -> Request:
    found = {"REQUEST_METHOD": "POST", "PATH_INFO": "/", "wsgi.input": io.BytesIO(body)} | environ
    if content_type is not None:
        found["CONTENT_TYPE"] = content_type
    return Request(WSGIRequest(found))


@pytest.fixture(autouse=True)
def one_kilobyte(settings_of):
    settings_of({"rest.request.maxBodySize": 1})


@pytest.mark.parametrize("content_type", ["text/x", "Text/X; charset=utf-8", " application/json ;a=b"])
def test_a_body_of_a_kind_that_is_taken(content_type):
    assert read_body(request(b"body", content_type, CONTENT_LENGTH="4"), KINDS) == b"body"


def test_a_body_in_chunks_goes_on_to_the_end():
    assert read_body(request(b"x" * 1024, HTTP_TRANSFER_ENCODING="chunked"), KINDS) == b"x" * 1024


@pytest.mark.parametrize(
    "environ", [{}, {"CONTENT_LENGTH": ""}, {"CONTENT_LENGTH": "-1"}, {"CONTENT_LENGTH": "0"}]
)
def test_a_request_without_length_has_no_body(environ):
    assert read_body(request(b"of another request", **environ), KINDS) == b""


@pytest.mark.parametrize("environ", [{"CONTENT_LENGTH": "1025"}, {"HTTP_TRANSFER_ENCODING": "chunked"}])
def test_a_body_that_is_too_large_is_refused(environ):
    with pytest.raises(TooLarge, match="at most 1024 bytes"):
        read_body(request(b"x" * 5000, **environ), KINDS)


@pytest.mark.parametrize(
    ("content_type", "named"),
    [
        (None, ""),
        ("", ""),
        ("text/y;text/x", " 'text/y;text/x'"),
    ],
)
def test_a_body_of_another_kind_is_refused_by_its_name(content_type, named):
    with pytest.raises(UnsupportedMediaType) as refused:
        read_body(request(b"x" * 5000, content_type), KINDS)
    assert refused.value.problems[0].message == f"Content-Type{named} is not supported"


class Broken(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        raise ConnectionResetError


def test_a_body_that_breaks_off_is_a_mistake_of_the_client():
    broken = Request(
        WSGIRequest(
            {
                "REQUEST_METHOD": "POST",
                "PATH_INFO": "/",
                "CONTENT_TYPE": "text/x",
                "CONTENT_LENGTH": "4",
                "wsgi.input": Broken(),
            }
        )
    )
    with pytest.raises(BadRequest, match="Failed to read request"):
        read_body(broken, KINDS)
