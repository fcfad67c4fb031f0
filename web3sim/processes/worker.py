"""The processes that run contract calls: a starter that has loaded everything, and the workers it forks.

Started by `web3sim.processes.starter` as `python -m web3sim.processes.worker <descriptor of a socket>`. The
starter receives two sockets for each worker on that one, and forks the worker, which is ready within
milliseconds. A worker reads one call after the other from the first socket and writes an answer to each; it
only holds the second, whose other side can be read once the worker has ended. A long answer is announced by a
message, then its chunks follow, ended by an empty one and a message: whether they are complete, and whether
there will be other answers. No process outlives the one that started it.
"""

import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import psutil

from mirror.core import logs
from mirror.core.processes import operating_system, process_table, signals
from web3sim.calls.messages import ANSWER, END, REQUEST, Answer, Trace
from web3sim.engine.interface import DeadlinePassed
from web3sim.processes.channel import PID, START, receive, send

log = logs.logger("mirror.web3")

_STACK_BYTES = 128 << 20
# The memory is checked after a call this long, and after so many calls.
_LONG_SECONDS = 0.1
_CALLS_PER_CHECK = 100
# Answers up to this size are sent whole.
_MAX_BUFFERED_BYTES = 256 * 1024


# STARTER


def main(descriptor: int) -> None:
    # Also while it still loads.
    signals.end_with_parent()
    # The threads of a worker run one after the other; a heap for each would count as its memory.
    operating_system.share_heap()
    # Ctrl-C in a terminal is for the web server, which ends and takes this with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process_table.set_process_name("simulation starter")
    # A pipe, of which only the worker has the other end -> the worker.
    workers: dict[int, int] = {}
    with socket.socket(fileno=descriptor) as control:
        values, database = START.decode(receive(control))
        _prepare(values, json.loads(database))
        while True:
            readable, _, _ = select.select([control.fileno(), *workers], [], [])
            for end in workers.keys() & set(readable):
                os.close(end)
                _reap(workers.pop(end))
            if control.fileno() not in readable:
                continue
            try:
                received = socket.recv_fds(control, 1, 2)[1]
            except OSError:
                return
            # The web server process has ended.
            if not received:
                return
            end, held = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    control.close()
                    for each in (end, *workers):
                        os.close(each)
                    _Worker(socket.socket(fileno=received[0])).run()
                except Exception as error:
                    log.error("worker_failed", exc_info=error)
                finally:
                    os._exit(0)
            workers[end] = pid
            for each in (held, *received):
                os.close(each)


def _reap(pid: int) -> None:
    """Reap a worker that has ended, and log it if it died."""
    from mirror.core.processes import exits
    from web3sim.processes.starter import ENDED_ON_PURPOSE

    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0 and code != -ENDED_ON_PURPOSE:
        exits.record(f"simulation worker (process {pid})", exits.reason(code))


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


class _Worker:
    """Answers calls in a second thread.

    The web server lowers the priority of that thread when a call takes long. It can't be raised again, but a
    new thread has the usual one, and the caches of the process stay.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._calls = 0
        # A received call for the next thread.
        self._received: bytes | None = None

    def run(self) -> None:
        """Answer calls until the socket is closed, or the limit of memory or calls is reached."""
        from mirror.core import config
        from mirror.core.db import replicas

        signals.end_with_parent(signal.SIGKILL)
        replicas.use_if_configured(connections=1)
        process_table.set_process_name("simulation worker")
        operating_system.become_expendable()
        memory: int = config.value("web3.workerMemory") << 20
        max_calls: int = config.value("web3.workerCalls")
        used = psutil.Process().memory_info()
        self._resident = used.rss
        limit = used.vms + memory + _STACK_BYTES
        # macOS has no such limit: there the memory is only checked after calls.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        threading.stack_size(_STACK_BYTES)
        try:
            send(self._connection, PID.encode(os.getpid()))
        except OSError:
            return
        while True:
            thread = threading.Thread(target=self._work, args=(memory, max_calls))
            thread.start()
            thread.join()
            if self._received is None:
                return

    def _work(self, memory: int, max_calls: int) -> None:
        from django.db import connections

        try:
            self._answer_calls(memory, max_calls)
        finally:
            # Those of this thread.
            connections.close_all()

    def _answer_calls(self, memory: int, max_calls: int) -> None:
        """Answer calls, until the priority of this thread has been lowered and there is another call."""
        priority = os.getpriority(os.PRIO_PROCESS, 0)
        while True:
            try:
                message = self._received or receive(self._connection)
                self._received = None
                if os.getpriority(os.PRIO_PROCESS, 0) != priority:
                    self._received = message
                    return
                request, request_id = REQUEST.decode(message)
                logs.REQUEST_ID.set(request_id)
                if not self._answer_call(request, memory, max_calls):
                    return
            except OSError:
                return
            except Exception as error:
                log.error("worker_failed", exc_info=error)
                return

    def _answer_call(self, request: Any, memory: int, max_calls: int) -> bool:
        """Answer a call; false if it was the last.

        Errors: OSError when the web server has closed the connection.
        """
        started_at = time.monotonic()
        chunks = _Chunks(self._connection)
        answer, is_exhausted = self._answer(request, chunks)
        self._calls += 1
        if self._calls % _CALLS_PER_CHECK == 0 or time.monotonic() - started_at > _LONG_SECONDS:
            is_exhausted = is_exhausted or psutil.Process().memory_info().rss - self._resident > memory // 2
        is_last = is_exhausted or self._calls >= max_calls
        if not chunks.started_at:
            send(self._connection, ANSWER.encode((answer._replace(result=b""), is_last)))
            send(self._connection, answer.result)
        else:
            chunks.end(complete=answer.status is HTTPStatus.OK, is_last=is_last)
        return not is_last

    def _answer(self, request: Any, chunks: "_Chunks") -> tuple[Any, bool]:
        """Return the answer, and whether it is the last of this process."""
        from web3sim.calls import call
        from web3sim.past import trace

        try:
            if not isinstance(request, Trace):
                return call.answer(request), False
            chunks.seconds = request.seconds
            answer = trace.answer(request, chunks.add)
            return answer._replace(result=chunks.buffered), False
        except MemoryError:
            log.warning("call_took_too_much_memory")
            return call.unavailable("The simulation needs too much memory"), True
        except DeadlinePassed:
            log.warning("trace_took_too_long")
            return call.unavailable(call.TIMEOUT), False
        except Exception as error:
            log.error("unexpected_error", exc_info=error)
            return Answer(HTTPStatus.INTERNAL_SERVER_ERROR), True


class _Chunks:
    """An answer in chunks: buffered while it is short, then sent chunk by chunk."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffered: list[bytes] = []
        self._size = 0
        self._deadline = 0.0
        self.started_at = False
        #: The time limit from its first chunk.
        self.seconds = 0.0

    @property
    def buffered(self) -> bytes:
        return b"".join(self._buffered)

    def add(self, chunk: bytes) -> None:
        """Errors: OSError when the web server has closed the connection, DeadlinePassed."""
        if self.started_at:
            if time.monotonic() > self._deadline:
                raise DeadlinePassed
            send(self._connection, chunk)
            return
        self._buffered.append(chunk)
        self._size += len(chunk)
        if self._size > _MAX_BUFFERED_BYTES:
            self.started_at = True
            self._deadline = time.monotonic() + self.seconds
            send(self._connection, ANSWER.encode((None, False)))
            send(self._connection, self.buffered)
            self._buffered.clear()

    def end(self, *, complete: bool, is_last: bool) -> None:
        """Errors: OSError."""
        send(self._connection, b"")
        send(self._connection, END.encode((complete, is_last)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
