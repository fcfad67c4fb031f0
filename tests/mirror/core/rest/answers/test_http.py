"""What every endpoint has around its answer."""

import gzip
import re

import psycopg
import pytest
from django.db import OperationalError
from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from ledger.queries import blocks as queries
from mirror.core.db.reading.pools import Busy, TooManySlowRequests
from mirror.core.db.reading.sql import fetch
from mirror.core.rest.answers.errors import InvalidParameter
from mirror.core.rest.middleware import ApiMiddleware
from mirror.core.rest.views import SpringReadView
from tests.logs import events
from tests.waiting import wait_until

NOT_FOUND = {"_status": {"messages": [{"message": "Not found"}]}}
BLOCKS = "/api/v1/blocks"


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v1/hedera/0.0.7",
        "/api/v1//blocks",
        "/api/v1/blocks//",
        "//api/v1/blocks",
        "/api/v1/blocks/1/2",
        "/api/v1/blocks%0A",
        "/api/v1/%FF",
        "/api/v1/%zz",
        "/api/v2/blocks",
        "/api/v1/bloc%E2%84%AAs",
    ],
)
def test_unknown_routes_are_not_found(api, path):
    answer = api.get(path)
    assert (answer.status, answer.json()) == (404, NOT_FOUND)
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "cache-control" not in answer.headers
    assert answer.statements == []


@pytest.mark.parametrize("path", ["/API/V1/Blocks", "/api/v1/blocks/", "/Api/v1/BLOCKS/"])
def test_paths_match_in_any_case_and_with_one_trailing_slash(api, build, path):
    build.block(7)
    answer = api.get(f"{path}?limit=1")
    assert answer.json()["links"]["next"] == f"{path.removesuffix('/')}?limit=1&block.number=lt:7"


def test_the_link_stands_in_the_header_too(api, build):
    build.block(7)
    assert api.get(f"{BLOCKS}?limit=1").headers["link"] == f'<{BLOCKS}?limit=1&block.number=lt:7>; rel="next"'
    assert "link" not in api.get(BLOCKS).headers


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"])
def test_other_methods_are_not_found(api, method):
    answer = api.request(method, BLOCKS)
    assert (answer.status, answer.json()) == (404, NOT_FOUND)


@pytest.mark.parametrize("path", [BLOCKS, "/api/v1/nothing", "/"])
def test_options_allows_every_origin(api, path):
    answer = api.request("OPTIONS", path, access_control_request_headers="X-A, x-b")
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers == {
        "access-control-allow-origin": "*",
        "access-control-allow-methods": "GET,HEAD,PUT,PATCH,POST,DELETE",
        "access-control-allow-headers": "X-A, x-b",
        "vary": "Access-Control-Request-Headers",
    }
    assert "access-control-allow-headers" not in api.request("OPTIONS", path).headers


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/network/stake", 404),
        ("GET", "/api/v1/network/exchangerate?timestamp=x", 400),
        ("POST", "/api/v1/network/fees", 415),
        ("POST", "/api/v1/network/stake", 405),
        ("POST", "/api/v1/contracts/call", 400),
        ("POST", BLOCKS, 404),
    ],
)
def test_every_origin_may_read_every_answer(api, method, path, status):
    answer = api.request(method, path, b"{}", content_type="application/json", origin="https://example.org")
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (status, "*")


def test_an_error_of_a_spring_endpoint_has_only_members_with_a_value(api):
    answer = api.get("/api/v1/network/stake")
    problem = {"detail": "No network stake data found", "message": "Not Found"}
    assert answer.json() == {"_status": {"messages": [problem]}}
    assert answer.headers["content-type"] == "application/json"
    invalid = SpringReadView().failed(InvalidParameter("node.id"))
    assert invalid.data == {"_status": {"messages": [{"message": "Invalid parameter: node.id"}]}}


def test_head_has_the_headers_of_get(api, build):
    build.block(7)
    assert api.request("HEAD", BLOCKS).headers == api.get(BLOCKS).headers
    assert api.request("HEAD", f"{BLOCKS}/8").status == 404


def test_the_headers_of_an_answer(api):
    answer = api.get(BLOCKS)
    assert answer.body == b'{"blocks":[],"links":{"next":null}}'
    assert re.fullmatch(r'W/"23-[A-Za-z0-9+/]{27}"', answer.headers["etag"])
    assert answer.headers == {
        "content-type": "application/json; charset=utf-8",
        "cache-control": "public, max-age=1",
        "access-control-allow-origin": "*",
        "vary": "Accept-Encoding",
        "etag": answer.headers["etag"],
        "content-length": "35",
    }


def test_bodies_of_one_length_have_different_entity_tags(api, build):
    build.block(7), build.block(8)
    seven, eight, again = (api.get(f"{BLOCKS}/{number}") for number in (7, 8, 7))
    assert len(seven.body) == len(eight.body) and seven.headers["etag"] == again.headers["etag"]
    assert seven.headers["etag"] != eight.headers["etag"]


def test_an_error_has_an_entity_tag_and_no_cache_control(api):
    answer = api.get(f"{BLOCKS}?limit=0")
    assert answer.status == 400
    assert answer.headers["etag"].startswith('W/"')
    assert "cache-control" not in answer.headers


@pytest.mark.parametrize("sent", ["{etag}", '"a", {etag}', "{strong}", "*"])
def test_a_client_that_has_the_answer_gets_no_body(api, build, sent):
    build.block(7)
    url = f"{BLOCKS}?limit=1"
    etag = api.get(url).headers["etag"]
    for method in ("GET", "HEAD"):
        answer = api.request(
            method, url, if_none_match=sent.format(etag=etag, strong=etag.removeprefix("W/"))
        )
        assert (answer.status, answer.body) == (304, b"")
        assert answer.headers == {
            "cache-control": "public, max-age=1",
            "etag": etag,
            "access-control-allow-origin": "*",
            "vary": "Accept-Encoding",
            "link": f'<{BLOCKS}?limit=1&block.number=lt:7>; rel="next"',
        }


def test_another_answer_and_an_error_get_the_body(api):
    for sent in ('"other"', '"a",*', "*,*", ""):
        assert api.get(BLOCKS, if_none_match=sent).status == 200
    assert api.get(f"{BLOCKS}?limit=0", if_none_match="*").status == 400


@pytest.mark.parametrize("header", ["no-cache", "no-store", "max-age=0"])
def test_a_client_does_not_ask_for_what_it_has_by_cache_control(api, header):
    etag = api.get(BLOCKS).headers["etag"]
    assert api.get(BLOCKS, if_none_match=etag, cache_control=header, pragma="no-cache").status == 304


def _through_the_middleware(response, **headers):
    # No endpoint has this path, so that no other test has left an answer to it in the cache.
    request = RequestFactory().get("/api/v1/none", headers=headers)
    return ApiMiddleware(lambda _: response)(request)


def test_a_plain_response_is_completed_like_every_other():
    body = b'{"result":"0x"}' * 100
    response = _through_the_middleware(
        HttpResponse(body, headers={"Is-Modularized": "true", "Content-Type": "application/json"}),
        accept_encoding="gzip",
    )
    assert gzip.decompress(response.content) == body
    assert response.headers["etag"].startswith('W/"')
    assert {name.lower(): text for name, text in response.headers.items() if name.lower() != "etag"} == {
        "is-modularized": "true",
        "content-type": "application/json",
        "access-control-allow-origin": "*",
        "vary": "Accept-Encoding",
        "content-encoding": "gzip",
        "content-length": str(len(response.content)),
    }


@pytest.mark.parametrize("accepted", ["gzip", ""])
def test_a_streamed_body_is_compressed_piece_by_piece(accepted):
    closed = []

    def pieces():
        try:
            yield from (b"a" * 1000, b"b" * 1000)
        finally:
            closed.append(True)

    response = _through_the_middleware(StreamingHttpResponse(pieces()), accept_encoding=accepted)
    body = b"".join(response)
    assert (gzip.decompress(body) if accepted else body) == b"a" * 1000 + b"b" * 1000
    assert response.headers.get("content-encoding", "") == accepted
    assert response.headers["vary"] == "Accept-Encoding"
    assert "etag" not in response.headers and "content-length" not in response.headers
    assert closed == [True]


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (psycopg.errors.UndefinedTable("secret"), 503, "Service unavailable"),
        (ZeroDivisionError("secret"), 500, "Internal error"),
    ],
)
def test_what_goes_wrong_inside_is_logged_and_not_told(api, monkeypatch, caplog, error, status, message):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(queries, "blocks", fails)
    answer = api.get(BLOCKS)
    assert (answer.status, answer.messages) == (status, [message])
    assert "cache-control" not in answer.headers
    (event,) = events(caplog)
    assert event["exc_info"] is error


def test_a_lost_connection_is_told_once_and_without_a_traceback(api, monkeypatch, caplog):
    def fails(*_, **__):
        raise OperationalError("connection lost") from psycopg.OperationalError("connection lost")

    monkeypatch.setattr(queries, "blocks", fails)
    for _ in range(3):
        answer = api.get(BLOCKS)
        assert (answer.status, answer.messages) == (503, ["Service unavailable"])
    wait_until(lambda: caplog.records)
    assert events(caplog) == [{"event": "database_connection_lost", "reason": "connection lost"}]


def test_a_request_that_takes_too_long_is_told_what_to_narrow(api, monkeypatch, settings_of, caplog):
    def slow(*_, **__):
        fetch("select pg_sleep(600)")

    settings_of({"rest.db.statementTimeout": 0.3})
    monkeypatch.setattr(queries, "blocks", slow)
    answer = api.get(BLOCKS)
    assert (answer.status, answer.messages) == (503, ["The request takes too long: narrow it by timestamp"])
    assert answer.headers["retry-after"] == "10"
    assert events(caplog) == [{"event": "request_took_too_long", "method": "GET", "path": BLOCKS}]


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (TooManySlowRequests(), 503, "The request takes too long: narrow it by timestamp"),
        (Busy(), 503, "Service unavailable"),
    ],
)
def test_what_ends_a_slow_request_is_no_failure_of_the_server(
    api, monkeypatch, caplog, error, status, message
):
    def slow(*_, **__):
        raise error

    monkeypatch.setattr(queries, "blocks", slow)
    answer = api.get(BLOCKS)
    assert (answer.status, answer.messages) == (status, [message])
    assert not any(record.levelname == "ERROR" for record in caplog.records)


def test_what_goes_wrong_while_an_answer_is_rendered_is_logged_too(api, build, monkeypatch, caplog):
    build.block(7)
    monkeypatch.setattr("ledger.api.blocks.BLOCK.json", lambda *_: {"number": object()})
    answer = api.get(BLOCKS)
    assert (answer.status, answer.messages) == (500, ["Internal error"])
    (event,) = events(caplog)
    assert isinstance(event["exc_info"], TypeError)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (f"accounts/{'ab' * 20}", "several entities have this alias or EVM address"),
        (
            f"contracts/{'ab' * 20}/state",
            f"More than one contract or account with the evm address 0x{'ab' * 20} have been found.",
        ),
    ],
    ids=["account", "contract"],
)
def test_rows_that_contradict_each_other_are_logged_too(api, build, caplog, path, reason):
    for number in (1001, 1002):
        build.entity(number, type="CONTRACT", evm_address=b"\xab" * 20)
    answer = api.get(f"/api/v1/{path}")
    assert (answer.status, answer.messages) == (500, ["Internal error"])
    asked = {"method": "GET", "path": f"/api/v1/{path}"}
    assert events(caplog) == [{"event": "internal_error", **asked, "reason": reason}]
