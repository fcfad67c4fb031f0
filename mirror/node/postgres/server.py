"""The node's own PostgreSQL: started when a command needs it, stopped by the last command that used it.

Any number of the node's commands share one server. Each holds a shared lock on `users.lock` while it needs
the database, and the last to leave stops the server. The kernel drops the locks of a killed process, so the
next command finds a server that a killed node has left behind, uses it, and stops it.
"""

import atexit
import errno
import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psutil

from mirror.core.logs import Echo
from mirror.core.processes import process_table, signals
from mirror.node.postgres import cluster
from mirror.node.postgres.cluster import ServerError
from mirror.node.postgres.installation import PORT, ServerPaths, server_paths

# Homes of the servers that this process uses. A lock excludes only other processes, and is lost as soon as
# any handle of its file is closed.
_USED_HERE: set[Path] = set()

_POLL_SECONDS = 0.02
_REMIND_SECONDS, _MAX_REMIND_SECONDS = 5.0, 60.0
_ORPHAN_SECONDS = 30.0
_STOP_SECONDS = 120.0
_LOG_BYTES = 10_000_000


def _silent(_: str) -> None:
    pass


class Server:
    """The PostgreSQL server of one place.

    `configuration` overrides cluster.CONFIGURATION (tests switch fsync off). `echo` gets progress sentences.
    """

    def __init__(
        self, paths: ServerPaths, *, configuration: Mapping[str, str] | None = None, echo: Echo = _silent
    ) -> None:
        self.paths = paths
        self._configuration = dict(configuration or {})
        self._echo = echo
        self._child: subprocess.Popen[bytes] | None = None
        # Where the lines of this use begin in the log.
        self._log_start = 0
        # The wait for a server that has not been ready since, and why it could not be started, said once.
        self._starting: Iterator[tuple[float, bool]] | None = None
        self._failure = ""
        # PostgreSQL shows this name in the title of each of its processes.
        self._mark = "ledger-mirror-" + hashlib.sha256(os.fsencode(paths.home)).hexdigest()[:16]

    # USE

    @contextmanager
    def in_use(self) -> Iterator["Server"]:
        """Run the server for the length of the block. Errors: ServerError.

        Blocks may be nested: the outermost one of a process starts and stops the server.
        """
        if self.paths.home in _USED_HERE:
            yield self
            return
        with self._translate_errors():
            cluster.make_home(self.paths)
            users = (self.paths.home / "users.lock").open("a+b")
        with users:
            started = False
            try:
                with self._starting_or_stopping():
                    fcntl.lockf(users, fcntl.LOCK_SH)
                    try:
                        with self._translate_errors():
                            self._start()
                        started = True
                        # Ctrl-C may come between any two statements, also where a block has not quite begun.
                        atexit.register(self._release, users)
                    except BaseException:
                        self._abort_start()
                        raise
                _USED_HERE.add(self.paths.home)
                yield self
            finally:
                if started:
                    self._release(users)

    def _release(self, users: IO[bytes]) -> None:
        """Stop the server if this was its last user."""
        _USED_HERE.discard(self.paths.home)
        try:
            with self._starting_or_stopping():
                if _locked(users):
                    self.stop()
        finally:
            atexit.unregister(self._release)

    def pid(self) -> int | None:
        """Return the process id of the running server, None if it does not run."""
        lines = self._pid_file()
        return int(lines[0]) if lines and self._mark in process_table.command(int(lines[0])) else None

    def pids(self) -> list[int]:
        """Return the process ids of everything the server runs, also what has outlived a killed one."""
        return [pid for pid in psutil.pids() if self._mark in process_table.command(pid)]

    def alive(self) -> bool:
        if self._child is not None and self._child.poll() is None:
            return True
        return self.pid() is not None

    @property
    def exit_code(self) -> int | None:
        """The exit code of the server's process; None if it runs, or another process has started it."""
        return self._child.poll() if self._child is not None else None

    def restart(self) -> None:
        """Start a server that has died, for all its users; any of them may do so. Errors: ServerError."""
        with self._starting_or_stopping(), self._translate_errors():
            if self.alive() and self._is_stuck():
                self._quit()
            self._start()

    def ensure_up(self) -> bool:
        """Start a server that does not answer again if it has died or hangs; return whether it runs.

        Where that fails, a later attempt may succeed; the reason is said once.
        """
        try:
            if not self.alive() or self._is_stuck():
                self.restart()
        except ServerError as error:
            # Without what differs from one attempt to the next: the free space, and lines of the log.
            failure = re.split("[(:]", str(error))[0]
            if failure != self._failure:
                self._echo(f"{error} The node tries again by itself.")
                self._failure = failure
            return False
        self._starting, self._failure = None, ""
        return True

    def check_disk(self) -> None:
        """Raise ServerError if the server has logged in this use that its disk is full."""
        if cluster.is_full(self.paths, self._log_from(self._log_start)):
            raise ServerError(cluster.full_disk(self.paths))

    # START

    def _start(self) -> None:
        """Start the server, or take over one that runs, and return once it accepts connections."""
        if self.pid() is not None:
            self._log_start = self.log_size()
            self._wait_until_ready(self._log_start)
            return
        self._wait_for_orphans()
        cluster.make_socket_folder(self.paths)
        programs = cluster.binaries(self.paths)
        version = cluster.check(self.paths, programs)
        if not self.paths.data.exists():
            self._echo(f"Making a new database in {self.paths.home}.")
            cluster.create(self.paths, programs, version, sync=self._configuration.get("fsync") != "off")
        self._log_start = self._launch(programs, version)
        self._wait_until_ready(self._log_start)

    def _wait_for_orphans(self) -> None:
        """Wait for the processes of a killed server, which may still write but soon end by themselves.

        Errors: ServerError if they stay, or if a server that was started by other means uses this data.
        """
        deadline = time.monotonic() + _ORPHAN_SECONDS
        while orphans := self.pids():
            if time.monotonic() > deadline:
                raise ServerError(
                    f"Processes of a PostgreSQL that was killed still use {self.paths.data}: "
                    f"end them ({', '.join(map(str, orphans))}) and start again."
                )
            time.sleep(_POLL_SECONDS)
        lines = self._pid_file()
        if lines and psutil.pid_exists(int(lines[0])):
            if "postgres" in process_table.command(int(lines[0])):
                raise ServerError(
                    f"A PostgreSQL that was started by other means (process {lines[0]}) uses "
                    f"{self.paths.data}: stop it and start again."
                )
            # Another program has the number now, or a dead process that its parent has not reaped.
            # PostgreSQL would take either for a server.
            for lock in (self.paths.data / "postmaster.pid", self.paths.socket / f".s.PGSQL.{PORT}.lock"):
                lock.unlink(missing_ok=True)

    def _launch(self, programs: Path, version: int) -> int:
        """Start the server's process; return where its lines begin in the log."""
        paths = self.paths
        arguments = cluster.configure(paths, version, self._configuration)
        begin = self.log_size()
        if begin > _LOG_BYTES:
            paths.log.rename(paths.log.with_suffix(".log.1"))
            begin = 0
        # Ctrl-C while it is started would leave a server of which this object does not know.
        with paths.log.open("ab") as log, signals.signals_blocked():
            paths.log.chmod(0o600)
            self._child = subprocess.Popen(
                [programs / "postgres", *arguments, "-c", f"cluster_name={self._mark}"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=paths.data,
                env=cluster.ENVIRONMENT,
                umask=0o077,
                # Ctrl-C in the terminal is for the node, which stops the server after its clients.
                start_new_session=True,
                **paths.account.process_options,
            )
        return begin

    def _wait_until_ready(self, log_start: int) -> None:
        self._starting = self._starting or _waiting(1.0, growth=2)
        for seconds, is_due in self._starting:
            lines = self._pid_file()
            if lines and len(lines) > 7 and lines[7].strip() == "ready" and self.pid():
                self._starting = None
                return
            if not self.alive():
                raise ServerError(
                    cluster.explain(self.paths, self._log_from(log_start), "stopped while starting")
                )
            if is_due:
                log = self._log_from(log_start)
                if cluster.is_full(self.paths, log):
                    self._quit()
                    raise ServerError(cluster.full_disk(self.paths))
                unclean = "automatic recovery in progress" in log
                doing = "repairs itself after an unclean stop" if unclean else "is starting"
                doing = "can't be started yet" if self._failure else doing
                self._echo(f"Waiting for PostgreSQL, which {doing} ({seconds:.0f} s so far).")

    # STOP

    def stop(self) -> None:
        """Disconnect everyone, write everything out and end; return when the process is gone."""
        pid = self.pid()
        if pid is None:
            self._reap()
            return
        self._signal_stop(pid)
        for seconds, is_due in _waiting():
            if not self.alive():
                break
            if seconds > _STOP_SECONDS:
                raise ServerError(
                    f"PostgreSQL (process {pid}) did not stop within {_STOP_SECONDS:.0f} seconds; "
                    f"its log is {self.paths.log}."
                )
            if is_due:
                self._signal_stop(pid)
                self._echo(f"Waiting for PostgreSQL to write everything out ({seconds:.0f} s so far).")
        self._reap()

    def _signal_stop(self, pid: int) -> None:
        """Stop in order, or at once after a crash, as PostgreSQL 18 hangs if recovery has not yet begun."""
        log = self._log_from(self._log_start)
        is_recovering = log.rfind("; reinitializing") > log.rfind("ready to accept connections")
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGQUIT if is_recovering else signal.SIGINT)

    def hangs(self) -> bool:
        """Return whether the server has one process left, as PostgreSQL 18 may after a full disk."""
        return self.alive() and len(self.pids()) < 2

    def _is_stuck(self) -> bool:
        """Return whether a server that does not answer hangs, or crashes repeatedly on a full disk."""
        log = self._log_from(self._log_start).rpartition("ready to accept connections")[2]
        # On a full disk the log says nothing.
        is_full = cluster.is_full(self.paths, log if "; reinitializing" in log else "")
        return is_full or self.hangs()

    def _quit(self) -> None:
        """End a server at once, as in a crash."""
        if (pid := self.pid()) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGQUIT)
            for seconds, _ in _waiting():
                if not self.alive() or seconds > _STOP_SECONDS:
                    break
        self._reap()

    def _abort_start(self) -> None:
        """End a server that is starting and is no longer needed."""
        if self._child is None:
            return
        self._child.send_signal(signal.SIGINT)
        try:
            self._child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            # It ends the processes it has started; the next start does again what they were doing.
            self._child.send_signal(signal.SIGQUIT)
        self._reap()

    def _reap(self) -> None:
        if self._child is not None:
            self._child.wait()
            self._child = None

    # FILES

    @contextmanager
    def _starting_or_stopping(self) -> Iterator[None]:
        """Let one command at a time start or stop the server; the others wait for it."""
        with self._translate_errors():
            lock = (self.paths.home / "start.lock").open("a+b")
        with lock:
            if not _locked(lock):
                self._echo(
                    "Waiting for another command of the node, which is starting or stopping the database."
                )
                fcntl.lockf(lock, fcntl.LOCK_EX)
            yield

    def _pid_file(self) -> list[str] | None:
        """Return the lines of postmaster.pid: pid, folder, start, port, socket, address, memory, state."""
        try:
            lines = (self.paths.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return None
        return lines if lines and lines[0].isdigit() else None

    def rotate_log(self) -> bool:
        """Move the lines of a long log to `.log.1`, in place of those before; return whether that was done.

        The server goes on with its file, to which it appends. Lines that it writes meanwhile may be lost.
        """
        log = self.paths.log
        if self.log_size() <= _LOG_BYTES:
            return False
        shutil.copyfile(log, log.with_suffix(".log.1"))
        log.with_suffix(".log.1").chmod(0o600)
        os.truncate(log, 0)
        self._log_start = 0
        return True

    def log_size(self) -> int:
        return self.paths.log.stat().st_size if self.paths.log.exists() else 0

    def _log_from(self, start: int) -> str:
        """Return what the log has from `start` on, the last 1 MB of it."""
        if not self.paths.log.exists():
            return ""
        begin = max(start, self.log_size() - 1_000_000)
        with self.paths.log.open("rb") as log:
            log.seek(begin)
            return log.read().decode(errors="replace")

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn an error of the operating system into a ServerError."""
        try:
            yield
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise ServerError(cluster.explain(self.paths, "No space left on device", "")) from error
            culprit = error.filename or "a system call"
            raise ServerError(
                f"The database in {self.paths.home} can't be used: {culprit}: {error.strerror}."
            ) from error


@contextmanager
def in_use(data_folder: Path, echo: Echo = _silent) -> Iterator[Server]:
    """Run the server of `data_folder` for the length of the block; see Server.in_use."""
    with Server(server_paths(data_folder), echo=echo).in_use() as server:
        yield server


def _waiting(pause: float = _REMIND_SECONDS, *, growth: int = 1) -> Iterator[tuple[float, bool]]:
    """Yield the seconds so far again and again, and whether a line about them is due."""
    began = reminded = time.monotonic()
    while True:
        now = time.monotonic()
        is_due = now - reminded > pause
        if is_due:
            reminded, pause = now, min(pause * growth, _MAX_REMIND_SECONDS)
        yield now - began, is_due
        time.sleep(_POLL_SECONDS)


def _locked(lock: IO[bytes]) -> bool:
    """Take the lock for this process alone, if no other process holds it; return whether it has."""
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
