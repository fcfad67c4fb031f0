"""Without replicas no cached answer is older than one that any process of the node has computed."""

import orjson
import pytest
from django.core.cache import caches

from mirror.core.db.replicas import shared_state, watermark
from mirror.core.db.replicas.shared_state import NO_BLOCK, Scoreboard
from tests.api import Api
from tests.build import SECOND, START, Build
from tests.web3sim.serving import ServingNode, serving_node

__all__ = ["serving_node"]

BLOCKS = "/api/v1/blocks"
CONTRACTS = "/api/v1/contracts"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    caches["responses"].clear()


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watermark, "scoreboard", Scoreboard(shared_state.create(0), 0))


@pytest.mark.usefixtures("shared", "db")
class TestCachedAnswers:
    def test_an_answer_is_computed_again_after_another_worker_showed_a_newer_block(self, build):
        cached, other = Api(cached=True), Api(cached=False)
        build.entity(6001, type="CONTRACT")
        build.block(7)
        assert len(cached.get(CONTRACTS).json()["contracts"]) == 1
        build.entity(6002, type="CONTRACT")
        build.block(8)
        assert len(other.get(CONTRACTS).json()["contracts"]) == 2
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": CONTRACTS, "QUERY_STRING": ""}
        assert cached.application.at_once(environ) is None
        assert len(cached.get(CONTRACTS).json()["contracts"]) == 2

    def test_a_cached_answer_waits_for_the_newest_block_right_after_a_computed_one(self, build, monkeypatch):
        cached, other = Api(cached=True), Api(cached=False)
        monkeypatch.setattr(watermark, "_RECENT_SECONDS", 600)
        build.block(695)
        cached.get(CONTRACTS)
        build.entity(6002, type="CONTRACT")
        build.block(711)
        assert len(other.get(CONTRACTS).json()["contracts"]) == 1
        assert len(cached.get(CONTRACTS).json()["contracts"]) == 1

    def test_without_a_newer_block_it_stays(self, build):
        cached, other = Api(cached=True), Api(cached=False)
        build.block(7)
        cached.get(CONTRACTS)
        build.entity(6002, type="CONTRACT")
        other.get(CONTRACTS)
        assert cached.get(CONTRACTS).json()["contracts"] == []

    def test_while_nothing_is_computed_no_statement_is_needed(self, build):
        cached = Api(cached=True)
        build.block(7)
        cached.get(CONTRACTS)
        cached.get(CONTRACTS)
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": CONTRACTS, "QUERY_STRING": ""}
        build.block(8)
        assert cached.application.at_once(environ) is not None

    def test_requests_share_the_reading_of_the_newest_block(self, build, monkeypatch):
        build.block(7)
        cached = Api(cached=True)
        assert watermark.refresh(for_cached=False) == 7
        monkeypatch.setattr(watermark, "_RECENT_SECONDS", 600)
        assert [len(cached.get(f"{BLOCKS}?limit={limit}").statements) for limit in (2, 3, 4)] == [1, 1, 1]


def test_a_process_alone_knows_no_block():
    assert watermark.refresh(for_cached=True) == NO_BLOCK
    assert watermark.is_fresh(NO_BLOCK)


def test_answers_of_several_workers_never_go_back(serving_node: ServingNode) -> None:
    build = Build()
    build.block(10, end=START + 10 * SECOND)
    serving_node.start(SVC_MIRROR_WEB_WORKERS="2")

    def newest(query: str) -> str:
        return str(orjson.loads(serving_node.get(f"{CONTRACTS}?{query}")[1])["contracts"][0]["contract_id"])

    before = {newest("limit=1") for _ in range(30)}
    build.entity(9999, type="CONTRACT")
    build.block(11, end=START + 20 * SECOND)
    assert newest("limit=2") == "0.0.9999" not in before
    assert {newest("limit=1") for _ in range(30)} == {"0.0.9999"}
