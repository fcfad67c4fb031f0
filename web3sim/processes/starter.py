"""A process that runs calls, as the web server sees it, and the starter of such processes."""

import json
import os
import signal
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
from mirror.core.processes.backoff import Backoff
from mirror.core.processes.operating_system import lower_thread_priority, processor_seconds
from web3sim.calls import messages
from web3sim.processes import channel
from web3sim.processes.channel import Inbox, decoded, receive

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
#: What ends a worker on purpose, whatever it does; any other signal is a death.
ENDED_ON_PURPOSE = signal.SIGTERM
# How long a process may take to start.
_START_SECONDS = 60.0


class CallUnavailable(Exception):
    """A call without an answer: no process was free in time, or its process was killed or died."""


class CallRefused(CallUnavailable):
    """A call that no process has begun."""


class WorkerProcess:
    """One process, as its web server process sees it; the other side of `end` is closed when it ends."""

    def __init__(self, connection: socket.socket, end: socket.socket, pid: int) -> None:
        self._connection, self.pid = connection, pid
        self._inbox = Inbox(connection)
        # The kernel's timeout; Python's own takes three system calls for each receive.
        connection.settimeout(None)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            connection.setsockopt(socket.SOL_SOCKET, option, _TIMEOUT)
        # Refers to this process also after its end, when another may have its pid.
        self._process = psutil.Process(pid)
        #: Is readable once the process has ended; its reader closes it.
        self.end = end
        #: When its call has begun.
        self.began = self._cpu_at_start = 0.0
        #: Whether its call was ended because another client waits.
        self.is_surplus = False
        # Whether its call runs at a lower priority.
        self._is_slowed = False

    def begin(self) -> None:
        """A call begins now."""
        self._is_slowed = self.is_surplus = False
        self.began, self._cpu_at_start = time.monotonic(), processor_seconds(self.pid) or 0.0

    @property
    def is_long(self) -> bool:
        """Return whether its call has taken much of what others need."""
        processor = (processor_seconds(self.pid) or 0.0) - self._cpu_at_start
        return processor > _LONG_CPU_SECONDS or time.monotonic() - self.began > _LONG_SECONDS

    def send(self, message: bytes) -> None:
        channel.send(self._connection, message)

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
        if time.monotonic() >= deadline + _GRACE_SECONDS:
            raise TimeoutError
        while True:
            try:
                return self._inbox.receive()
            except BlockingIOError:
                if time.monotonic() >= deadline + _GRACE_SECONDS:
                    raise TimeoutError from None
                if not replicas.are_read():
                    unresponsive.check()
                if self.is_long and not self._is_slowed:
                    self._slow_down()

    def _slow_down(self) -> None:
        """Lower the priority of the thread that answers: of all but the first, which only starts others."""
        self._is_slowed = True
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
        self._connection.close()


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
                return self._worker(stopping)
            except (OSError, psutil.Error) as error:
                # Unless it was closed in the meantime.
                if self._control is not None:
                    self._record_death()
                    self.close()
                if not stopping.is_set():
                    log.error("worker_not_started", reason=str(error))
                raise CallUnavailable("no process could be started") from error

    def _worker(self, stopping: threading.Event) -> WorkerProcess:
        """Errors: as `_send_sockets`; psutil's, if it has ended."""
        (ours, theirs), (end, held) = socket.socketpair(), socket.socketpair()
        try:
            with theirs, held:
                self._send_sockets([theirs.fileno(), held.fileno()], stopping)
            ours.settimeout(_START_SECONDS)
            return WorkerProcess(ours, end, decoded(channel.PID, receive(ours)))
        except BaseException:
            ours.close()
            end.close()
            raise

    def _send_sockets(self, descriptors: list[int], stopping: threading.Event) -> None:
        """Errors: OSError; CallUnavailable while nothing may be started."""
        if self._control is not None:
            try:
                socket.send_fds(self._control, [b"\0"], descriptors)
                return
            except OSError:
                if not stopping.is_set():
                    self._record_death()
                self.close()
        if time.monotonic() < self._next_start:
            raise CallUnavailable("the process that starts others died, and is started again in a while")
        control = self._control = self._start()
        # `close` does not end what was started after it.
        if stopping.is_set():
            self.close()
            raise CallUnavailable("the node stops")
        socket.send_fds(control, [b"\0"], descriptors)

    def _record_death(self) -> None:
        """Log why the process died, and set when it may be started again."""
        if self._process is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        reason, pause = exits.reason(self._process.poll()), self._pauses.after(time.monotonic() - self._began)
        self._next_start = time.monotonic() + pause
        exits.record(f"simulation starter (process {self._process.pid})", reason, pause)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        # A stopped process reads nothing.
        ours.settimeout(_START_SECONDS)
        self._began = time.monotonic()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "web3sim.processes.worker", str(theirs.fileno())],
                cwd=settings.BASE_DIR,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        database = dict(connections.settings[DEFAULT_DB_ALIAS])
        channel.send(ours, channel.START.encode((config.values(), json.dumps(database))))
        return ours

    def close(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                # A stopped process takes no other signal.
                process.kill()
                process.wait()
