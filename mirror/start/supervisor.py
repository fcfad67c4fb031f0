"""The parts of a running node: each is watched, and started again when it has died.

A part that dies again and again is started again after growing pauses. Each death and its reason are said,
and recorded for `manage.py status`.
"""

import multiprocessing
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.context import ForkProcess as Process

from mirror.core import logs, metrics
from mirror.core.config.setting import OperatorError
from mirror.core.processes import exits, operating_system, process_table, signals
from mirror.core.processes.exits import Backoff
from mirror.node.postgres.server import Server

log = logs.logger("mirror.node")


_STOP_SECONDS = 30
_LOG_READ_SECONDS, _HANG_CHECK_SECONDS = 1.0, 10.0

# The line PostgreSQL logs when one of its processes is killed; it then ends all sessions and repairs itself.
_KILLED = re.compile(r"LOG: +(.+?) \(PID (\d+)\) was terminated by signal (\d+)")


class _Supervised:
    """A part that is watched: reports its deaths and knows when it is due to start again."""

    def __init__(self, name: str, echo: logs.Echo) -> None:
        self.name = name
        self._echo = echo
        self._pauses = Backoff()
        self._began = self._due = time.monotonic()

    def check(self) -> None:
        """Start the part if it is due, or report its death."""
        raise NotImplementedError

    def _died(self, process: str, reason: str) -> None:
        pause = self._pauses.after(time.monotonic() - self._began)
        self._due = time.monotonic() + pause
        when = f"in {pause:.0f} s" if pause else "now"
        # The sentence is for people who look on, the line for what reads the log.
        exits.record(process, reason, pause)
        self._echo(f"{process[0].upper()}{process[1:]} {reason}. It is started again {when}.")


class Part(_Supervised):
    """A part that is a process. One that ends with exit code 0 is done, unless it `lasts`."""

    def __init__(
        self, name: str, work: Callable[[], None], echo: logs.Echo, *, permanent: bool = False
    ) -> None:
        super().__init__(name, echo)
        self._fine = (None,) if permanent else (None, 0)
        self._work = work
        self._process: Process | None = None
        #: How often it has ended by itself, and not by a signal.
        self.failures = 0

    def check(self) -> None:
        process = self._process
        if process is None:
            if time.monotonic() >= self._due:
                self._start()
        elif process.exitcode not in self._fine:
            self._process = None
            self.failures += (process.exitcode or 0) > 0
            self._died(f"{self.name} (process {process.pid})", exits.reason(process.exitcode))

    def _start(self) -> Process:
        context = multiprocessing.get_context("fork")
        process = context.Process(target=_run, args=(self.name, self._work), name=self.name)
        with signals.signals_blocked():
            process.start()
            self._process = process
        self._began = time.monotonic()
        return process

    def finish(self) -> int | None:
        """Run the part to its end, and return its exit code."""
        try:
            process = self._start()
            process.join()
        finally:
            self.stop()
        return process.exitcode

    def stop(self) -> None:
        if process := self._process:
            process.terminate()
            process.join(_STOP_SECONDS)
            process.kill()
            process.join()


def _run(name: str, work: Callable[[], None]) -> None:
    process_table.set_process_name(name)
    signals.start_supervised()
    # The supervisor and the database, which has no such call, start the others again.
    operating_system.become_expendable()
    try:
        work()
    except OperatorError as error:
        print(error, file=sys.stderr, flush=True)
        sys.exit(error.exit_code)
    except Exception as error:
        log.critical("process_failed", process=multiprocessing.current_process().name, exc_info=error)
        sys.exit(1)


class Database(_Supervised):
    """The node's own PostgreSQL. Deaths of its processes are said too, since they end all sessions."""

    def __init__(self, server: Server, echo: logs.Echo) -> None:
        super().__init__("PostgreSQL", echo)
        self._server = server
        self._pid = server.pid()
        self._away = False
        self._read = self._server.log_size()
        self._log_read_at = self._hang_checked_at = time.monotonic()

    def check(self) -> None:
        if self._away:
            if time.monotonic() >= self._due:
                self._revive()
        elif not self._server.alive():
            self._away = True
            reason = exits.reason(self._server.exit_code)
            self._died(
                f"{self.name} (process {self._pid})", f"{reason}, and its log is {self._server.paths.log}"
            )
        elif time.monotonic() >= self._hang_checked_at + _HANG_CHECK_SECONDS:
            self._hang_checked_at = time.monotonic()
            self._away = self._server.hangs()
        elif time.monotonic() >= self._log_read_at + _LOG_READ_SECONDS:
            self._log_read_at = time.monotonic()
            self._read_log()

    def _revive(self) -> None:
        if not self._server.ensure_up():
            self._began = time.monotonic()
            self._due = self._began + self._pauses.after(0)
            return
        self._echo("PostgreSQL runs again.")
        self._away = False
        self._pid, self._began = self._server.pid(), time.monotonic()

    def _read_log(self) -> None:
        size = self._server.log_size()
        if size < self._read:
            self._read = 0
        if size == self._read:
            return
        with self._server.paths.log.open("rb") as file:
            file.seek(self._read)
            text = file.read(size - self._read).decode(errors="replace")
        with suppress(OSError):
            # A disk that is full has no room for a copy.
            size = 0 if self._server.rotate_log() else size
        self._read = size
        for kind, pid, number in _KILLED.findall(text):
            process = f"PostgreSQL's {kind} (process {pid})"
            reason = exits.reason(-int(number))
            exits.record(process, reason)
            self._echo(f"{process} {reason}; PostgreSQL ends all its sessions and repairs itself.")


def run_with_metrics(role: str, work: Callable[[logs.Echo], None], echo: logs.Echo) -> None:
    """Do the work of a process with metrics of its own, which ends with the supervisor."""
    signals.end_with_parent()
    metrics.start(role)
    work(echo)
