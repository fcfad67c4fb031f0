"""The processes that run contract calls: a starter that has loaded everything, and the workers it forks.

Started by `web3sim.processes.starter` as `python -m web3sim.processes.worker <descriptor of a socket>`, with
the settings and the database on standard input. Each socket that the starter receives becomes a worker's,
which is ready within milliseconds. A worker reads one call after the other and writes an answer to each. A
long answer is announced by a message, then its chunks follow, ended by an empty one and a message: whether
they are complete, and whether there will be other answers. No process outlives the one that started it.
"""

import gc
import json
import os
import resource
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from fractions import Fraction
from http import HTTPStatus
from multiprocessing import connection, get_context
from typing import Any

import psutil

from mirror.core import logs
from mirror.core.processes import operating_system, process_table, signals
from mirror.core.processes.typed_json import Codec, TypedJson
from web3sim.calls.messages import ANSWER, END, REQUEST, CallAnswer, Trace
from web3sim.engine.interface import DeadlinePassed
from web3sim.processes.channel import Channel

log = logs.logger("mirror.web3")

_Value = int | float | bool | str | tuple[str, ...] | Fraction | None
#: The settings, and the database as JSON.
START = TypedJson(
    tuple[dict[str, _Value], str],
    {Fraction: lambda json: Codec(str, lambda value: Fraction(json.codec(str).decode(value)))},
)
#: What a worker that is ready says first.
PID = TypedJson(int)
#: What ends a worker on purpose, whatever it does; any other signal is a death.
ENDED_ON_PURPOSE = signal.SIGTERM

_STACK_BYTES = 128 << 20
# The memory is checked after a call this long, and after so many calls.
_LONG_SECONDS = 0.1
_CALLS_PER_CHECK = 100
# Answers up to this size are sent whole.
_MAX_BUFFERED_BYTES = 256 * 1024


# STARTER


def main(control: socket.socket) -> None:
    # Also while it still loads.
    signals.end_with_parent()
    # The threads of a worker run one after the other; a heap for each would count as its memory.
    operating_system.share_heap()
    # Ctrl-C in a terminal is for the web server, which ends and takes this with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process_table.set_process_name("simulation starter")
    settings, database = START.decode(sys.stdin.buffer.read())
    _prepare(settings, json.loads(database))
    from mirror.core.processes import exits

    fork = get_context("fork")
    workers: list[Any] = []
    while True:
        readable = connection.wait([control, *(worker.sentinel for worker in workers)])
        for worker in [worker for worker in workers if worker.exitcode is not None]:
            workers.remove(worker)
            if worker.exitcode < 0 and worker.exitcode != -ENDED_ON_PURPOSE:
                exits.record(f"simulation worker (process {worker.pid})", exits.reason(worker.exitcode))
            worker.close()
        if control in readable:
            received = socket.recv_fds(control, 1, 1)[1]
            # The web server process has ended.
            if not received:
                return
            with socket.socket(fileno=received[0]) as theirs:
                worker = fork.Process(target=_work, args=(theirs, control), daemon=True)
                worker.start()
            workers.append(worker)


def _prepare(settings: dict[str, Any], database: dict[str, Any]) -> None:
    """Load what calls need, with the settings and the databases of the process that started this."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    from django.conf import settings as django_settings

    from mirror.core import config
    from mirror.core.logs import configuring

    config.overridden(settings)
    configuring.configure()
    django_settings.DATABASES = {"default": database}
    from django.db import DEFAULT_DB_ALIAS, connections

    from mirror.core.db.reading import timeouts
    from web3sim.calls import call
    from web3sim.past import trace

    timeouts.use(timeouts.WEB_SERVER)
    call.load_engine()
    trace.load_engine()
    # Loads Django's backend, and connects to nothing.
    _ = connections[DEFAULT_DB_ALIAS]
    gc.collect()
    # Workers share the memory that they never change.
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


# WORKERS


def _work(theirs: socket.socket, control: socket.socket) -> None:
    """Answer calls until the socket is closed, or the limit of memory or calls is reached."""
    from mirror.core import config
    from mirror.core.db import replicas

    control.close()
    replicas.use_if_configured(connections=1)
    signals.end_with_parent(signal.SIGKILL)
    process_table.set_process_name("simulation worker")
    operating_system.become_expendable()
    memory: int = config.value("web3.workerMemory") << 20
    used = psutil.Process().memory_info()
    limit = used.vms + memory + _STACK_BYTES
    # macOS has no such limit: there the memory is only checked after calls.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Deep recursion needs a stack that only another thread can have; the web server lowers its priority.
    threading.stack_size(_STACK_BYTES)
    thread = threading.Thread(target=_answer_calls, args=(Channel(theirs), used.rss + memory // 2))
    thread.start()
    thread.join()


def _answer_calls(channel: Channel, max_resident: int) -> None:
    from mirror.core import config

    max_calls: int = config.value("web3.workerCalls")
    try:
        channel.send(PID.encode(os.getpid()))
        for number in range(1, max_calls + 1):
            request, request_id = REQUEST.decode(channel.receive())
            logs.REQUEST_ID.set(request_id)
            started_at = time.monotonic()
            chunks = _Chunks(channel)
            answer, is_last = _answer(request, chunks)
            if number % _CALLS_PER_CHECK == 0 or time.monotonic() - started_at > _LONG_SECONDS:
                is_last = is_last or psutil.Process().memory_info().rss > max_resident
            is_last = is_last or number == max_calls
            if chunks.is_started:
                channel.send(b"")
                channel.send(END.encode((answer.status is HTTPStatus.OK, is_last)))
            else:
                channel.send(ANSWER.encode((answer._replace(result=b""), is_last)))
                channel.send(answer.result)
            if is_last:
                return
    except OSError:
        # The web server has closed the connection.
        return
    except Exception as error:
        log.error("worker_failed", exc_info=error)


def _answer(request: Any, chunks: "_Chunks") -> tuple[Any, bool]:
    """Return the answer, and whether it is the last of this process. Errors: OSError."""
    from web3sim.calls import call
    from web3sim.past import trace

    try:
        if not isinstance(request, Trace):
            return call.answer(request), False
        chunks.seconds = request.seconds
        answer = trace.answer(request, chunks.add)
        return answer._replace(result=bytes(chunks.buffered)), False
    except MemoryError:
        log.warning("call_took_too_much_memory")
        return call.unavailable("The simulation needs too much memory"), True
    except DeadlinePassed:
        log.warning("trace_took_too_long")
        return call.unavailable(call.TIMEOUT), False
    except Exception as error:
        log.error("unexpected_error", exc_info=error)
        return CallAnswer(HTTPStatus.INTERNAL_SERVER_ERROR), True


class _Chunks:
    """An answer in chunks: buffered while it is short, then sent chunk by chunk."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.buffered = bytearray()
        self._deadline = 0.0
        self.is_started = False
        #: The time limit from its first chunk.
        self.seconds = 0.0

    def add(self, chunk: bytes) -> None:
        """Errors: OSError when the web server has closed the connection, DeadlinePassed."""
        if self.is_started:
            if time.monotonic() > self._deadline:
                raise DeadlinePassed
            self._channel.send(chunk)
            return
        self.buffered += chunk
        if len(self.buffered) > _MAX_BUFFERED_BYTES:
            self.is_started = True
            self._deadline = time.monotonic() + self.seconds
            self._channel.send(ANSWER.encode((None, False)))
            self._channel.send(self.buffered)
            self.buffered = bytearray()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
