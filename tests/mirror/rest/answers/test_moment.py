"""The header Mirror-Block: an answer is never older than the one a client has seen."""

import pytest

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


def test_a_client_that_has_the_answer_is_told_the_block_as_well(api: Api, build: Build) -> None:
    build.block(7)
    api = Api(budgeted=False)
    tag = api.get(BLOCKS, mirror_block="0").headers["etag"]
    build.block(3, end=1)
    unchanged = api.get(BLOCKS, mirror_block="7", if_none_match=tag)
    assert (unchanged.status, unchanged.headers[HEADER]) == (304, "7")
