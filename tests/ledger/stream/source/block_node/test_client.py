"""The client of block nodes, against a real server: whole blocks, and what no stream of blocks may hold."""

import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest

from ledger.stream.errors import StreamFileError
from ledger.stream.source.block_node import api_pb2
from ledger.stream.source.block_node import client as client_module
from ledger.stream.source.block_node.answers import Available, StatusAnswer
from ledger.stream.source.block_node.api_pb2 import BlockEnd, BlockItemSet, SubscribeStreamResponse
from ledger.stream.source.block_node.assembly import Assembler, BlockNodeFailure, Limits
from ledger.stream.source.block_node.client import BlockNode, BlockNodeClient, Endpoint
from mirror.demo.publish.block_node import BlockNodeServer, items_of
from tests.ledger.stream.block.blocks import BlockFile, BlockStream
from tests.waiting import PATIENCE_SECONDS, wait_until

FIRST = 7


def blocks(count: int, transactions: int = 3) -> list[BlockFile]:
    stream = BlockStream(first_block=FIRST)
    made = []
    for _ in range(count):
        for _ in range(transactions):
            stream.happen("cryptoTransfer")
        made.append(stream.block())
    return made


@pytest.fixture
def server() -> Iterator[BlockNodeServer]:
    with BlockNodeServer() as running:
        yield running


def client(server: BlockNodeServer, limits: Limits | None = None) -> BlockNodeClient:
    endpoint = Endpoint("127.0.0.1", server.port)
    return BlockNodeClient(BlockNode(endpoint, endpoint), limits or Limits())


def following(using: BlockNodeClient, end: int | None = None, seconds: float = 0) -> Generator[Any]:
    """Yield blocks until the subscription ends."""
    with closing(using.subscribe(FIRST, end, seconds_per_block=seconds or PATIENCE_SECONDS)) as subscription:
        while not subscription.has_ended:
            if block := subscription.next(0.1):
                yield block


def received(
    server: BlockNodeServer, *, limits: Limits | None = None, end: int | None = None, seconds: float = 0
) -> list[Any]:
    with closing(client(server, limits)) as using:
        return list(following(using, end, seconds))


def test_the_generated_messages_are_those_of_the_description(tmp_path):
    folder = Path(api_pb2.__file__ or "").parent
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", f"--python_out={tmp_path}", "api.proto"]
    subprocess.run(command, cwd=folder, check=True)

    assert (tmp_path / "api_pb2.py").read_text() == (folder / "api_pb2.py").read_text()


def test_a_node_tells_what_blocks_it_has(server):
    with closing(client(server)) as using:
        assert using.available(PATIENCE_SECONDS) is None
        for block in blocks(3):
            server.publish(block.number, block.content)
        assert using.available(PATIENCE_SECONDS) == Available(7, 9)


def test_a_node_with_as_many_streams_as_it_may_have_refuses_one_more_and_still_tells_what_it_has():
    (block,) = blocks(1)
    with BlockNodeServer(streams=1) as server:
        server.publish(block.number, block.content)
        one, other = client(server), client(server)
        try:
            first = following(one)
            assert next(first).number == FIRST
            with pytest.raises(BlockNodeFailure, match="ERROR"):
                list(following(other))
            assert other.available(PATIENCE_SECONDS) == Available(FIRST, FIRST)
            first.close()
            wait_until(lambda: next(accepted(other), None))
        finally:
            one.close()
            other.close()


def accepted(using: BlockNodeClient) -> Iterator[Any]:
    try:
        yield from following(using)
    except BlockNodeFailure:
        return


def said_at(host: str, port: int, *, tls: bool = False, seconds: float = PATIENCE_SECONDS) -> str:
    endpoint = Endpoint(host, port, tls)
    with closing(BlockNodeClient(BlockNode(endpoint, endpoint), Limits())) as using:
        assert using.available(seconds) is None
        return using.poll(seconds).answer().text("it")


def test_a_node_that_is_away_has_nothing_and_says_why():
    with BlockNodeServer() as gone:
        pass

    assert said_at("127.0.0.1", gone.port) == "it: connection refused"
    assert said_at("no-such-host.invalid", 40840).startswith("it: ")
    assert "errors resolving" not in said_at("no-such-host.invalid", 40840)


def test_what_is_no_block_node_is_told_apart_from_one_that_is_slow_or_has_nothing(server):
    other = grpc.server(ThreadPoolExecutor(1))
    port = other.add_insecure_port("127.0.0.1:0")
    other.start()
    try:
        assert said_at("127.0.0.1", port) == "it: what answers there is no block node (UNIMPLEMENTED)"
        assert said_at("127.0.0.1", port, tls=True) == "it: what answers there speaks no TLS"
    finally:
        other.stop(None)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert said_at("127.0.0.1", port, seconds=0.4) == "it: no answer within 400 ms"
    assert said_at("127.0.0.1", server.port) == "it has no blocks"


def test_details_of_strangers_are_short_and_on_one_line():
    class Chatty(BlockNodeServer):
        def status(self, request: Any, context: Any) -> Any:
            context.abort(grpc.StatusCode.INTERNAL, "a\x1b[31m\nfault " + "x" * 500)

    with Chatty() as chatty:
        assert said_at("127.0.0.1", chatty.port) == f"it: INTERNAL: ... {'x' * 100}"


def test_blocks_come_whole_and_in_order(server):
    made = blocks(3, transactions=5)
    for block in made:
        server.publish(block.number, block.content)

    files = [each.file for each in received(server, end=9)]

    assert [(file.name, file.block_number, file.hash, file.count) for file in files] == [
        (f"{block.number:019}.blk", block.number, block.hash.hex(), 5) for block in made
    ]


def test_a_block_that_is_published_later_is_waited_for(server):
    first, second = blocks(2)
    server.publish(first.number, first.content)
    using = client(server)
    coming = following(using, 8)
    try:
        assert next(coming).file.block_number == 7
        server.publish(second.number, second.content)
        assert next(coming).file.block_number == 8
        assert list(coming) == []
    finally:
        using.close()


def test_a_program_that_is_run_as_a_user_begins_while_blocks_are_streamed():
    # PostgreSQL is started so.
    command = [sys.executable, "-m", "tests.ledger.stream.source.block_node.forks"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("", "")


SUCCESS = SubscribeStreamResponse(status=SubscribeStreamResponse.SUCCESS)


class Lying(BlockNodeServer):
    """A block node that sends other messages than those of the block."""

    def __init__(self, sent: list[SubscribeStreamResponse]) -> None:
        super().__init__()
        self._sent = sent

    def subscribe(self, request: Any, context: Any) -> Iterator[SubscribeStreamResponse]:
        yield from self._sent


def item_set(*items: bytes) -> SubscribeStreamResponse:
    return SubscribeStreamResponse(block_items=BlockItemSet(block_items=items))


def end(number: int) -> SubscribeStreamResponse:
    return SubscribeStreamResponse(end_of_block=BlockEnd(block_number=number))


def test_empty_sets_and_ends_of_nothing_are_passed_over():
    (block,) = blocks(1)
    items = items_of(block.content)
    sent = [end(3), item_set(), item_set(*items[:2]), item_set(), item_set(*items[2:]), end(7), end(7)]
    with Lying([*sent, SUCCESS]) as server:
        assert [each.file.block_number for each in received(server)] == [7]


ONE = blocks(1)[0]
ITEMS = items_of(ONE.content)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ([item_set(*ITEMS[:3]), item_set(*ITEMS)], "has begun a new block while the one before it"),
        ([item_set(*ITEMS[1:])], "with another item than its header"),
        ([item_set(*ITEMS), end(8)], "has ended block 7 as block 8"),
        ([item_set(*ITEMS[:-1]), end(7)], "the block has no proof"),
        ([item_set(*ITEMS[:4])], "has ended the stream, which has no end"),
        ([item_set(*ITEMS[:4]), SUCCESS], "has ended the stream within a block"),
        ([], "has ended the stream, which has no end"),
        ([SubscribeStreamResponse(status=SubscribeStreamResponse.NOT_AVAILABLE)], "status NOT_AVAILABLE"),
        ([SubscribeStreamResponse(status=77)], "status 77"),
        ([SubscribeStreamResponse()], "a message of an unknown kind"),
        ([item_set(ITEMS[0], b"\x22\x05ab")], "an item that can't be parsed"),
        ([item_set(ITEMS[0], b"")], "goes on with an unknown item"),
    ],
)
def test_what_is_no_stream_of_blocks_is_refused(sent, reason):
    with Lying(sent) as server, pytest.raises(StreamFileError, match=reason):
        received(server)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(items=5), "more than 5 items"),
        (Limits(block_bytes=100), "more than 100 bytes"),
        (Limits(message_bytes=100), "RESOURCE_EXHAUSTED"),
    ],
)
def test_a_block_that_is_too_large_is_refused(server, limits, reason):
    server.publish(ONE.number, ONE.content)

    with pytest.raises(BlockNodeFailure, match=reason):
        received(server, limits=limits)


def test_a_node_that_sends_half_a_block_and_then_nothing_is_given_up():
    class Stalling(Lying):
        def subscribe(self, request: Any, context: Any) -> Iterator[SubscribeStreamResponse]:
            yield from self._sent
            self._stopping.wait(PATIENCE_SECONDS)

    with (
        Stalling([item_set(*ITEMS[:3])]) as server,
        pytest.raises(BlockNodeFailure, match="not sent a whole"),
    ):
        received(server, seconds=0.3)


def test_a_block_of_another_number_is_refused():
    sent = [item_set(*ITEMS), end(7), item_set(*ITEMS), end(7)]
    with Lying(sent) as server, pytest.raises(BlockNodeFailure, match="sent block 7 instead of block 8"):
        received(server)


def test_a_large_message_of_too_many_items_is_refused_before_it_is_parsed():
    assembler = Assembler("node", Limits(items=100))
    size = 9 << 20
    data = item_set(*[b""] * 101, bytes(size)).SerializeToString()

    with pytest.raises(BlockNodeFailure, match="more than 100 items"):
        assembler.parse(data)
    assert len(assembler.parse(item_set(bytes(size)).SerializeToString()).block_items.block_items) == 1


def test_blocks_ahead_of_the_reader_are_few_if_they_are_large(server, monkeypatch):
    monkeypatch.setattr(client_module, "_MAX_BUFFERED_BYTES", 1)
    for block in blocks(4):
        server.publish(block.number, block.content)
    with closing(client(server)) as using:
        subscription = using.subscribe(FIRST, seconds_per_block=PATIENCE_SECONDS)
        for number in range(7, 11):
            coming = subscription.next(PATIENCE_SECONDS)
            assert coming and coming.number == number
            assert len(subscription._buffered) <= 1


def connection_of(using: BlockNodeClient) -> Any:
    return using.channel(using.node.status, using._target(using.node.status))


class Pausing(BlockNodeServer):
    """A block node that answers only while it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = threading.Event()
        self.may_answer.set()

    def status(self, request: Any, context: Any) -> Any:
        self.may_answer.wait(PATIENCE_SECONDS)
        return super().status(request, context)


def test_a_connection_over_which_answers_come_no_more_is_made_anew():
    with Pausing() as server:
        server.publish(ONE.number, ONE.content)
        with closing(client(server)) as using:
            assert using.available(PATIENCE_SECONDS) == Available(7, 7)
            before = connection_of(using)

            server.may_answer.clear()
            assert using.available(0.05) is None
            server.may_answer.set()
            assert connection_of(using) is not before
            assert using.available(PATIENCE_SECONDS) == Available(7, 7)


def test_answers_over_a_connection_of_the_past_tell_nothing_of_the_one_of_now():
    with Pausing() as server:
        server.publish(ONE.number, ONE.content)
        with closing(client(server)) as using:
            answered = [using.poll(PATIENCE_SECONDS) for _ in range(2)]
            assert all(question.is_done_within(PATIENCE_SECONDS) for question in answered)
            server.may_answer.clear()
            too_late = [using.poll(0.05) for _ in range(2)]
            assert all(question.is_done_within(PATIENCE_SECONDS) for question in too_late)
            server.may_answer.set()

            using.close()
            ends = [StatusAnswer(Available(7, 7)), StatusAnswer(failure="no answer within 50 ms")]
            assert [answered[0].answer(), too_late[0].answer()] == ends
            assert using.available(PATIENCE_SECONDS) == Available(7, 7)
            connection = connection_of(using)
            assert [answered[1].answer(), too_late[1].answer()] == ends
            assert connection_of(using) is connection


def test_a_question_whose_connection_is_closed_meanwhile_has_no_answer():
    with Pausing() as server:
        server.may_answer.clear()
        using = client(server)
        question = using.poll(PATIENCE_SECONDS)
        assert not question.is_done_within(0.05)
        using.close()

        assert question.is_done_within(PATIENCE_SECONDS)
        assert question.answer() == StatusAnswer(failure="the connection to it was closed")
        server.may_answer.set()


def test_a_client_that_was_closed_connects_anew(server):
    server.publish(ONE.number, ONE.content)
    with closing(client(server)) as using:
        assert using.available(PATIENCE_SECONDS) == Available(7, 7)
        using.close()
        assert using.available(PATIENCE_SECONDS) == Available(7, 7)


def test_a_range_without_an_end_is_none(server):
    server.publish(0, ONE.content)
    server.publish((1 << 64) - 1, ONE.content)
    with closing(client(server)) as using:
        assert using.poll(PATIENCE_SECONDS).answer() == StatusAnswer(
            failure="does not tell which blocks it has"
        )


def test_a_node_that_goes_away_is_a_failure(server):
    server.publish(ONE.number, ONE.content)
    using = client(server)
    coming = following(using)
    try:
        next(coming)
        server.__exit__()
        with pytest.raises(BlockNodeFailure, match="the block node has (failed|ended)"):
            next(coming)
    finally:
        using.close()
