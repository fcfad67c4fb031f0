"""What web server and simulation processes send each other: plain values, whatever a process sends."""

import os
import pickle
import socket
from http import HTTPStatus
from pathlib import Path

import pytest

from mirror.core.processes.typed_json import TypedJson
from web3sim.calls.messages import ANSWER, END, REQUEST, Call, CallAnswer, Problem, Trace
from web3sim.processes.channel import Channel, ConnectionClosed, decoded
from web3sim.processes.starter import WorkerProcess
from web3sim.processes.worker import PID
from web3sim.state.blocks import BlockSelector
from web3sim.state.overridden_state import Override

ADDRESS = bytes(range(20))
OVERRIDE = Override(ADDRESS, 5, b"\x60", 2, {2**255: 2**256 - 1}, is_whole_storage=True)
CALL = Call(BlockSelector(hash="ab"), b"\1", None, ADDRESS, 1, 2, 2**70, True, "v1", 1.5, (OVERRIDE,))


@pytest.mark.parametrize("request_", [CALL, Trace(1, True, False, True, 2.5, 3)], ids=["call", "trace"])
def test_request_is_received_as_it_was_sent(request_: Call | Trace) -> None:
    message = request_, None

    assert REQUEST.decode(REQUEST.encode(message)) == message
    assert type(REQUEST.decode(REQUEST.encode(message))[0]) is type(request_)


def test_answer_is_received_as_it_was_sent() -> None:
    answer = CallAnswer(HTTPStatus.BAD_REQUEST, b"", (Problem("a", "b", "0x"),), 21_000)

    assert ANSWER.decode(ANSWER.encode((answer, True))) == (answer, True)
    assert ANSWER.decode(ANSWER.encode((None, False))) == (None, False)


class MakesFolder:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self._path),)


def test_web_server_runs_no_code_of_a_process_that_was_taken_over(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        worker = WorkerProcess(ours, os.getpid())
        for read in (worker.answer, worker.end_of_chunks):
            Channel(theirs).send(pickle.dumps((MakesFolder(tmp_path / "sign"), False)))

            with pytest.raises(OSError, match="a message of another form"):
                read(float("inf"))
    assert not (tmp_path / "sign").exists()


@pytest.mark.parametrize("form", [ANSWER, END, PID])
@pytest.mark.parametrize("message", [b"", b"null", b"[]", b"[1,2,3]", b"[" * 100_000, b"\xff", b"[null,1,0]"])
def test_message_of_another_form_ends_the_connection(form: TypedJson, message: bytes) -> None:
    with pytest.raises(ConnectionClosed):
        decoded(form, message)


def test_message_of_gigabytes_is_not_waited_for() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"\xff\xff\xff\xff")

        with pytest.raises(ConnectionClosed, match="4,294,967,299 bytes"):
            Channel(ours).receive()
