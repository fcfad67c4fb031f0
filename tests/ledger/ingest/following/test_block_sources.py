"""Blocks of whichever source works."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from ledger.ingest.following.block_sources import IDLE_SECONDS, BlockNodeSource
from ledger.ingest.following.configured_blocks import open_block_source
from ledger.stream.errors import StreamFileError
from ledger.stream.source.block_node.api_pb2 import SubscribeStreamResponse
from ledger.stream.source.block_node.scheduler import STALL_SECONDS, SelectionReason
from mirror.demo.publish.block_node import BlockNodeServer
from tests.ledger.ingest.following.block_nodes import first, publish
from tests.logs import events
from tests.waiting import PATIENCE_SECONDS, wait_until


def test_a_node_that_has_blocks_later_than_another_is_left_for_it(server, settings_of):
    with BlockNodeServer() as other:
        publish(other)
        addresses = [f"127.0.0.1:{each.port}" for each in (server, other)]
        settings_of(
            {
                "importer.block.nodes": tuple(addresses),
                "importer.block.scheduler.minRescheduleInterval": 0.0,
                "importer.block.scheduler.maxPostProcessingLatency": PATIENCE_SECONDS,
            }
        )
        source = open_block_source()
        assert isinstance(source, BlockNodeSource)
        try:
            assert first(source, 7).number == 7
            (used,) = [each["name"] for each in source.status()["nodes"] if each["used"]]
            for node in source.scheduler.ordered():
                source.scheduler.measured(node, 0.5 if node.name == used else 0.1)

            assert first(source, 8).number == 8
            assert source.location == f"the block node {next(each for each in addresses if each != used)}"
            assert source.status()["now"] == source.location
        finally:
            source.close()


def test_status_has_the_failure_of_a_node_set_aside(server):
    with closing(open_block_source()) as source:
        for _ in range(3):
            assert first(source, 7).number == 7
            source.reject("the chain is broken")

        (told,) = source.status()["nodes"]
        assert (told["last_failure"], told["used"]) == ("the chain is broken", False)
        assert told["set_aside_until"] is not None


def test_failing_node_is_reported_until_its_block_is_accepted(server):
    with closing(open_block_source()) as source:
        for _ in range(3):
            assert first(source, 7).number == 7
            source.reject("the chain is broken")

        assert first(source, 7).number == 7
        assert source.status()["why"] == SelectionReason.FORCED
        assert first(source, 8).number == 8
        assert source.status()["why"] == SelectionReason.ACCEPTED
        assert source.status()["nodes"][0]["set_aside_until"] is None


def test_status_says_why_no_node_can_be_used(server, settings_of):
    settings_of({"importer.block.nodes": (f"127.0.0.1:{server.port}", "127.0.0.1:1 priority=1")})
    with closing(open_block_source()) as source:
        with pytest.raises(StreamFileError, match=r"block 500 \(127\.0\.0\.1:\d+ has blocks 7 to 9; "):
            source.next(500, 0)

        has, away = source.status()["nodes"]
        assert (has["answer"], has["blocks"]) == ("has blocks 7 to 9", (7, 9))
        assert (away["answer"], away["blocks"]) == ("connection refused", None)
        assert abs(away["answered"] - time.time()) < PATIENCE_SECONDS


def test_status_of_a_killed_node_has_its_present_answer(server):
    with closing(open_block_source()) as source:
        assert [first(source, number).number for number in (7, 8, 9)] == [7, 8, 9]
        server.__exit__()
        with pytest.raises(StreamFileError):
            first(source, 10)
        wait_until(lambda: refusal(source, 10).endswith("connection refused)"))
        assert source.status()["nodes"][0]["answer"] == "connection refused"


def refusal(source: Any, number: int) -> str:
    try:
        source.next(number, 0)
    except StreamFileError as error:
        return error.cause
    return ""


def wait_no_longer_than(source: Any, seconds: float) -> None:
    source._subscription._seconds = seconds


def test_a_node_that_has_no_block_more_is_waited_for_and_has_not_failed(server):
    with closing(open_block_source()) as source:
        assert [first(source, number).number for number in (7, 8, 9)] == [7, 8, 9]
        wait_no_longer_than(source, 0)
        assert [source.next(10, 0) for _ in range(5)] == [None] * 5
        wait_no_longer_than(source, PATIENCE_SECONDS)

        (told,) = source.status()["nodes"]
        assert (told["used"], told["last_failure"]) == (True, "")
        publish(server, 4)
        assert first(source, 10).number == 10


class Withholding(BlockNodeServer):
    """A block node that says that it has a block more than it sends."""

    def status(self, request: Any, context: Any) -> Any:
        status = super().status(request, context)
        status.last_available_block += 1
        return status


def test_a_node_that_does_not_send_what_it_says_it_has_has_failed(server, settings_of):
    with Withholding() as withholding:
        publish(withholding)
        settings_of(
            {
                "importer.block.nodes": (f"127.0.0.1:{withholding.port}",),
                "importer.block.stream.responseTimeout": 1.0,
            }
        )
        with closing(open_block_source()) as source:
            assert [first(source, number).number for number in (7, 8, 9)] == [7, 8, 9]
            wait_no_longer_than(source, 0)
            with pytest.raises(StreamFileError, match="has not sent block 10 in time, which it has"):
                first(source, 10)


class Polite(BlockNodeServer):
    """A block node that ends a stream once it has sent all that it has, and counts its streams."""

    def __init__(self) -> None:
        super().__init__()
        self.streams = 0

    def subscribe(self, request: Any, context: Any) -> Iterator[SubscribeStreamResponse]:
        self.streams += 1
        request.end_block_number = max(self._blocks)
        return super().subscribe(request, context)


def test_node_that_ends_its_stream_without_news_has_not_failed(server, settings_of):
    with Polite() as polite:
        publish(polite)
        settings_of({"importer.block.nodes": (f"127.0.0.1:{polite.port}",)})
        with closing(open_block_source()) as source:
            assert [first(source, number).number for number in (7, 8, 9)] == [7, 8, 9]
            polite.streams, began = 0, time.monotonic()
            wait_until(lambda: source.next(10, 0) or polite.streams >= 3)
            assert polite.streams <= 1 + (time.monotonic() - began) / IDLE_SECONDS
            (told,) = source.status()["nodes"]
            assert (told["last_failure"], told["set_aside_until"]) == ("", None)

            publish(polite, 4)
            assert first(source, 10).number == 10


def test_quiet_node_that_ends_its_stream_without_its_block_has_failed(server, settings_of):
    asked = threading.Semaphore(0)

    class EndingWhenAsked(Polite):
        def status(self, request: Any, context: Any) -> Any:
            asked.release()
            return super().status(request, context)

        def subscribe(self, request: Any, context: Any) -> Iterator[SubscribeStreamResponse]:
            for _ in range(2):
                asked.acquire(timeout=PATIENCE_SECONDS)
            yield SubscribeStreamResponse(status=SubscribeStreamResponse.SUCCESS)

    with EndingWhenAsked() as ending:
        publish(ending)
        settings_of({"importer.block.nodes": (f"127.0.0.1:{ending.port}",)})
        with closing(open_block_source()) as source:
            assert source.next(7, 0) is None
            wait_no_longer_than(source, 0)
            with pytest.raises(StreamFileError, match="ended the stream without block 7, which it has"):
                first(source, 7)


def test_blocks_that_are_accepted_between_failures_do_not_excuse_them(server, caplog):
    with closing(open_block_source()) as source:
        for number in (7, 8, 9):
            assert first(source, number).number == number
            source.reject(f"it has hash {number}a{number}b… and another chain")
            assert first(source, number).number == number

        (told,) = source.status()["nodes"]
        assert told["failures"] == 3
        refused = [each["reason"] for each in events(caplog) if each["event"] == "block_refused"]
        assert refused == ["it has hash 7a7b… and another chain"]


def test_a_node_that_stalls_is_left_at_once_for_another_one_that_has_the_block(server, settings_of):
    with BlockNodeServer() as other:
        nodes = (f"127.0.0.1:{server.port}", f"127.0.0.1:{other.port} priority=1")
        settings_of({"importer.block.nodes": nodes})
        with closing(open_block_source()) as source:
            assert [first(source, number).number for number in (7, 8, 9)] == [7, 8, 9]
            publish(other, 4)
            with pytest.raises(StreamFileError, match=r"nothing for \d+ s, while \S+ has block 10"):
                first(source, 10)

            assert first(source, 10).number == 10
            assert source.location == f"the block node 127.0.0.1:{other.port}"
            assert source.status()["nodes"][0]["set_aside_until"] is not None


def be_quiet_for_a_minute(source: Any) -> None:
    assert source.next(10, 0) is None
    source._requested_at -= 60
    source._subscription._idle_since -= 60


def test_a_failure_after_a_quiet_minute_is_no_stall(server):
    source: Any = open_block_source()
    try:
        assert [first(source, number).number for number in (7, 8, 9)] == [7, 8, 9]
        be_quiet_for_a_minute(source)
        publish(server, 4)
        assert first(source, 10).number == 10
        source.reject("another chain")
        assert first(source, 10).number == 10
        source._requested_at -= 60
        server.__exit__()
        with pytest.raises(StreamFileError):
            first(source, 11)

        (told,) = source.status()["nodes"]
        assert (told["failures"], told["set_aside_until"]) == (2, None)
    finally:
        source.close()


def test_a_node_owes_no_block_that_no_other_node_had_at_the_last_look(server, settings_of):
    with BlockNodeServer() as other:
        nodes = (f"127.0.0.1:{server.port}", f"127.0.0.1:{other.port} priority=1")
        settings_of({"importer.block.nodes": nodes})
        source: Any = open_block_source()
        try:
            assert [first(source, number).number for number in (7, 8, 9)] == [7, 8, 9]
            wait_no_longer_than(source, 3600)
            be_quiet_for_a_minute(source)
            assert source.next(10, 0) is None
            publish(other, 4)
            source._next_stall_check -= STALL_SECONDS
            with pytest.raises(StreamFileError, match=r"has block 10"):
                source.next(10, 0)

            told = source.status()["nodes"][0]
            assert (told["failures"], told["set_aside_until"]) == (1, None)
        finally:
            source.close()


def test_a_quiet_node_is_left_for_another_one_that_has_the_block(server, settings_of):
    with BlockNodeServer() as other:
        settings_of(
            {"importer.block.nodes": (f"127.0.0.1:{server.port}", f"127.0.0.1:{other.port} priority=1")}
        )
        with closing(open_block_source()) as source:
            assert [first(source, number).number for number in (7, 8, 9)] == [7, 8, 9]
            assert source.location == f"the block node 127.0.0.1:{server.port}"
            publish(other, 4)
            wait_no_longer_than(source, 0)

            assert first(source, 10).number == 10
            assert source.location == f"the block node 127.0.0.1:{other.port}"
            assert source.status()["nodes"][0]["last_failure"] == ""


class Together(BlockNodeServer):
    """A block node that says what it has once it and all others that share `asked` have been asked."""

    def __init__(self, asked: threading.Barrier) -> None:
        super().__init__()
        self._asked = asked

    def status(self, request: Any, context: Any) -> Any:
        self._asked.wait(PATIENCE_SECONDS)
        return super().status(request, context)


@pytest.fixture
def asked_together(server: BlockNodeServer, settings_of: Any) -> Iterator[list[Together]]:
    """Some block nodes behind the server, which answer only if they are asked at once."""
    asked = threading.Barrier(5)
    with ExitStack() as stack:
        nodes = [stack.enter_context(Together(asked)) for _ in range(5)]
        ports = [server.port, *(node.port for node in nodes)]
        settings_of(
            {
                "importer.block.nodes": tuple(
                    f"127.0.0.1:{port} priority={place}" for place, port in enumerate(ports)
                )
            }
        )
        yield nodes


def test_all_others_are_queried_at_once_for_the_block_of_a_quiet_node(server, asked_together):
    with closing(open_block_source()) as source:
        assert [first(source, number).number for number in (7, 8, 9)] == [7, 8, 9]
        publish(asked_together[-1], 4)
        wait_no_longer_than(source, 0)

        assert first(source, 10).number == 10
        assert source.location == f"the block node 127.0.0.1:{asked_together[-1].port}"


def test_how_soon_a_node_has_blocks_is_forgotten_when_one_of_them_is_refused(server):
    source = open_block_source()
    assert isinstance(source, BlockNodeSource)
    try:
        assert first(source, 7).number == 7
        (node,) = source.scheduler.ordered()
        source.scheduler.measured(node, 0.001)
        source.reject("another chain")

        assert source.status()["nodes"][0]["latency_ms"] is None
    finally:
        source.close()
