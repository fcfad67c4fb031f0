"""A process that runs calls, as the web server sees it, and the starter of such processes."""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import psutil
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from mirror.core import config, logs
from mirror.core.db import replicas
from mirror.core.db.availability import unresponsive
from mirror.core.processes import exits
from mirror.core.processes.exits import Backoff
from mirror.core.processes.operating_system import lower_thread_priority, processor_seconds
from web3sim.calls import messages
from web3sim.processes.channel import Channel, decoded
from web3sim.processes.worker import ENDED_ON_PURPOSE, PID, START

log = logs.logger("mirror.web3")

# A call is long after this processor time, or this time by the clock.
_LONG_CPU_SECONDS, _LONG_SECONDS = 0.25, 2.0
#: The interval of checks for that.
CHECK_SECONDS = 0.25
# As a struct timeval.
_TIMEOUT = struct.pack("@ll", 0, int(CHECK_SECONDS * 1_000_000))
_NICENESS_OF_LONG, _MAX_NICENESS = 10, 19
# How long after its deadline a call may still answer.
_GRACE_SECONDS = 1.0
_END_SECONDS = 1.0
# How long a process may take to start.
_START_SECONDS = 60.0


class CallUnavailable(Exception):
    """A call without an answer: no process was free in time, or its process was killed or died."""


class CallRefused(CallUnavailable):
    """A call that no process has begun."""


class WorkerProcess:
    """One process, as its web server process sees it."""

    def __init__(self, connection: socket.socket, pid: int) -> None:
        self._channel, self.pid = Channel(connection), pid
        # The kernel's timeout; Python's own takes three system calls for each receive.
        connection.settimeout(None)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            connection.setsockopt(socket.SOL_SOCKET, option, _TIMEOUT)
        # Refers to this process also after its end, when another may have its pid.
        self._process = psutil.Process(pid)
        #: When its call has begun.
        self.began = self._cpu_at_start = 0.0
        #: Whether its call was ended because another client waits.
        self.is_surplus = False
        #: Whether it runs at a lower priority, which can't be raised again.
        self.is_slowed = False

    def begin(self) -> None:
        """A call begins now."""
        self.began, self._cpu_at_start = time.monotonic(), processor_seconds(self.pid) or 0.0

    @property
    def is_long(self) -> bool:
        """Return whether its call has taken much of what others need."""
        processor = (processor_seconds(self.pid) or 0.0) - self._cpu_at_start
        return processor > _LONG_CPU_SECONDS or time.monotonic() - self.began > _LONG_SECONDS

    def has_ended(self) -> bool:
        """Return whether a process without a call has closed its connection."""
        try:
            return bool(self._channel.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"")
        except BlockingIOError:
            return False
        except OSError:
            return True

    def send(self, message: bytes) -> None:
        """Errors: OSError."""
        self._channel.send(message)

    def answer(self, deadline: float) -> Any:
        """Errors: OSError, TimeoutError of them; ServerUnresponsive."""
        answer, is_last = decoded(messages.ANSWER, self.chunk(deadline))
        return answer and answer._replace(result=self.chunk(deadline)), is_last

    def end_of_chunks(self, deadline: float) -> tuple[bool, bool]:
        """Return whether the chunks were complete, and the last answer. Errors: as `answer`."""
        complete, is_last = decoded(messages.END, self.chunk(deadline))
        return complete, is_last

    def chunk(self, deadline: float) -> bytes:
        """Errors: as `answer`; TimeoutError also for a chunk that is there, but read too late."""
        while time.monotonic() < deadline + _GRACE_SECONDS:
            try:
                return self._channel.receive()
            except BlockingIOError:
                if not replicas.are_read():
                    unresponsive.check()
                if self.is_long and not self.is_slowed:
                    self._slow_down()
        raise TimeoutError

    def _slow_down(self) -> None:
        """Lower the priority of the thread that answers: of all but the first, which waits for it."""
        self.is_slowed = True
        with suppress(OSError):
            # The whole node may run at a lower priority already.
            niceness = min(os.getpriority(os.PRIO_PROCESS, self.pid) + _NICENESS_OF_LONG, _MAX_NICENESS)
            lower_thread_priority(self.pid, niceness)

    def kill(self) -> None:
        """End the process; a thread that waits for its answer gets an OSError."""
        with suppress(psutil.Error):
            self._process.send_signal(ENDED_ON_PURPOSE)
            # A stopped process takes no other signal.
            self._process.kill()

    def close(self) -> None:
        """End the process and its connection; no thread may be waiting for its answer."""
        self.kill()
        self._channel.connection.close()


class Starter:
    """The process that forks the others, started with the first of them.

    Not multiprocessing's fork server, which preloads modules before it could get the settings and the
    database of this process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pauses = Backoff()
        self._began = self._next_start = 0.0

    def worker(self, stopping: threading.Event) -> WorkerProcess:
        """A new process that is ready. Errors: CallUnavailable, also once `stopping` is set."""
        with self._lock:
            try:
                if self._process is None or self._process.poll() is not None:
                    self._restart(stopping)
                assert self._control
                return _forked(self._control)
            except (OSError, psutil.Error) as error:
                if stopping.is_set():
                    raise CallUnavailable("the node stops") from error
                log.error("worker_not_started", reason=str(error))
                # Its death is recorded with the next start.
                self._end()
                raise CallUnavailable("no process could be started") from error

    def _restart(self, stopping: threading.Event) -> None:
        """Start the process. Errors: OSError; CallUnavailable while it may not be started."""
        if self._process is not None and not stopping.is_set():
            reason = exits.reason(self._process.poll())
            pause = self._pauses.after(time.monotonic() - self._began)
            self._next_start = time.monotonic() + pause
            exits.record(f"simulation starter (process {self._process.pid})", reason, pause)
            self.close()
        if time.monotonic() < self._next_start:
            raise CallUnavailable("the process that starts others died, and is started again in a while")
        database = json.dumps(dict(connections.settings[DEFAULT_DB_ALIAS]))
        self._control, theirs = socket.socketpair()
        # A stopped process reads nothing.
        self._control.settimeout(_START_SECONDS)
        self._began = time.monotonic()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "web3sim.processes.worker", str(theirs.fileno())],
                cwd=settings.BASE_DIR,
                stdin=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
            )
        # `close` does not end what was started after it.
        if stopping.is_set():
            self.close()
            raise CallUnavailable("the node stops")
        assert self._process.stdin
        with self._process.stdin as stdin:
            stdin.write(START.encode((config.values(), database)))

    def close(self) -> None:
        """End the process, and with it the others."""
        self._end()
        self._process = None

    def _end(self) -> None:
        control, process = self._control, self._process
        if control is not None:
            control.close()
        if process is not None:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                # A stopped process takes no other signal.
                process.kill()
                process.wait()


def _forked(control: socket.socket) -> WorkerProcess:
    """Errors: OSError; psutil's, if it has ended."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            socket.send_fds(control, [b"\0"], [theirs.fileno()])
        ours.settimeout(_START_SECONDS)
        return WorkerProcess(ours, decoded(PID, Channel(ours).receive()))
    except BaseException:
        ours.close()
        raise
