"""The header Mirror-Block: an answer is never older than the one a client has seen."""

from typing import Any

import psycopg
import pytest

from ledger.queries import blocks as queries
from mirror.core.db.replicas import block_requirement
from mirror.core.db.scheduling.request_scheduler import ClientDisconnected, TooManySlowRequests
from tests.api import Api
from tests.build import Build

BLOCKS = "/api/v1/blocks?limit=1"
HEADER = "mirror-block"


def test_answers_have_it_if_the_request_has_it(api: Api, build: Build) -> None:
    build.block(7)
    assert HEADER not in api.get(BLOCKS).headers
    with_header = Api(budgeted=False)
    assert with_header.get(BLOCKS, mirror_block="0").headers[HEADER] == "7"
    assert with_header.get(BLOCKS, mirror_block="7").headers[HEADER] == "7"


def test_a_block_that_has_not_come_yet_is_refused_with_words(api: Api, build: Build, settings_of) -> None:
    settings_of({"db.readPatience": 0.0})
    build.block(7)
    answer = Api(budgeted=False).get(BLOCKS, mirror_block="8")
    assert answer.status == 503
    assert answer.headers["retry-after"] == "1"
    assert answer.messages == ["Block 8 is not loaded here yet: the last one is 7. Ask again soon"]


@pytest.mark.parametrize("text", ["-1", "seven", "", "9" * 30])
def test_what_is_no_block_is_refused(api: Api, text: str) -> None:
    answer = api.get(BLOCKS, mirror_block=text)
    assert (answer.status, answer.messages) == (400, ["Invalid parameter: Mirror-Block"])


def test_a_kept_answer_is_not_given_to_a_client_that_has_seen_more(db, build: Build) -> None:
    api = Api(cached=True, budgeted=False)
    build.block(7)
    assert api.get(BLOCKS).json()["blocks"][0]["number"] == 7
    build.block(8)
    assert api.get(BLOCKS).json()["blocks"][0]["number"] == 7
    newer = api.get(BLOCKS, mirror_block="8")
    assert (newer.json()["blocks"][0]["number"], newer.headers[HEADER]) == (8, "8")
    assert api.get(BLOCKS, mirror_block="8").statements == []


def test_an_answer_with_parts_older_than_its_block_is_not_kept(db, build: Build, monkeypatch) -> None:
    # No other test keeps its answer.
    api, url = Api(cached=True, budgeted=False), "/api/v1/blocks?limit=2"
    build.block(7)
    read = queries.blocks

    def read_before_the_next_block(*given: Any, **named: Any) -> Any:
        rows = read(*given, **named)
        build.block(8)
        return rows

    monkeypatch.setattr(queries, "blocks", read_before_the_next_block)
    answer = api.get(url, mirror_block="7")
    assert (answer.json()["blocks"][0]["number"], answer.headers[HEADER]) == (7, "8")
    monkeypatch.setattr(queries, "blocks", read)
    assert api.get(url, mirror_block="8").json()["blocks"][0]["number"] == 8


@pytest.mark.parametrize(
    "error", [TooManySlowRequests(), ClientDisconnected(), psycopg.OperationalError("gone")]
)
def test_a_complete_answer_needs_no_header(api: Api, build: Build, monkeypatch, error: Exception) -> None:
    def fails(_: object) -> int:
        raise error

    build.block(7)
    monkeypatch.setattr(block_requirement, "newest", fails)
    answer = Api(budgeted=False).get(BLOCKS, mirror_block="7")
    assert (answer.status, HEADER in answer.headers) == (200, False)


def test_a_request_that_waits_for_its_block_ends_like_every_other(api: Api, monkeypatch) -> None:
    def fails(_: int) -> None:
        raise TooManySlowRequests

    monkeypatch.setattr(block_requirement, "begin", fails)
    answer = api.get(BLOCKS, mirror_block="7")
    assert (answer.status, answer.headers["retry-after"]) == (503, "10")
    assert answer.messages == ["The request takes too long: try again later"]


def test_what_is_no_block_is_refused_whether_or_not_the_answer_is_kept(db, build: Build) -> None:
    api = Api(cached=True, budgeted=False)
    build.block(7)
    assert api.get(BLOCKS, mirror_block="7").status == 200
    assert api.get(BLOCKS, mirror_block="seven").status == 400


def test_scripts_of_other_sites_may_read_it_and_answers_vary_with_it(api: Api, build: Build) -> None:
    build.block(7)
    cached, exposed = Api(cached=True, budgeted=False), "access-control-expose-headers"
    url = "/api/v1/blocks?limit=3"
    for _ in ("made", "kept"):
        answer = cached.get(url, mirror_block="7")
        assert answer.headers[exposed] == "Mirror-Block"
        assert answer.headers["vary"] == "Accept-Encoding, Mirror-Block"
    unchanged = cached.get(url, mirror_block="7", if_none_match=answer.headers["etag"])
    assert (unchanged.status, unchanged.headers[exposed]) == (304, "Mirror-Block")
    plain = api.get(url)
    assert exposed not in plain.headers
    assert plain.headers["vary"] == "Accept-Encoding"


def test_a_client_that_has_the_answer_is_told_the_block_as_well(api: Api, build: Build) -> None:
    build.block(7)
    api = Api(budgeted=False)
    tag = api.get(BLOCKS, mirror_block="0").headers["etag"]
    build.block(3, end=1)
    unchanged = api.get(BLOCKS, mirror_block="7", if_none_match=tag)
    assert (unchanged.status, unchanged.headers[HEADER]) == (304, "7")
