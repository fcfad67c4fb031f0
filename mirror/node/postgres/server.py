"""The node's own PostgreSQL: started when a command needs it, stopped by the last command that used it.

Any number of the node's commands share one server. Each holds a shared lock on `users.lock` while it needs
the database; who leaves last stops the server. The kernel drops the locks of a process that is killed, so a
server left behind by a killed node is found running by the next command, used, and stopped with it.
"""

import errno
import fcntl
import hashlib
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mirror.node.postgres import cluster
from mirror.node.postgres.cluster import ServerError
from mirror.node.postgres.place import PORT, Place, place

Say = Callable[[str], None]

# Homes of the servers this process uses: a lock excludes other processes, and is lost when any file handle of
# it is closed.
_USED_HERE: set[Path] = set()

_POLL_SECONDS = 0.02
_REMIND_SECONDS = 5.0
_REMAINS_SECONDS = 30.0
_STOP_SECONDS = 120.0
_LOG_BYTES = 10_000_000


def _silent(_: str) -> None:
    pass


class Server:
    """The server of one place.

    `configuration` overrides cluster.CONFIGURATION (tests switch fsync off). `say` gets progress sentences.
    """

    def __init__(
        self, at: Place, *, configuration: Mapping[str, str] | None = None, say: Say = _silent
    ) -> None:
        self.place = at
        self._configuration = dict(configuration or {})
        self._say = say
        self._child: subprocess.Popen[bytes] | None = None
        # Where in the log the lines of this use begin.
        self._log_start = 0
        # PostgreSQL shows this name in the title of each of its processes.
        self._mark = "ledger-mirror-" + hashlib.sha256(os.fsencode(at.home)).hexdigest()[:16]

    # USE

    @contextmanager
    def in_use(self) -> Iterator["Server"]:
        """Have the server running for the length of the block; raises ServerError.

        Blocks may stand inside each other: the outermost one of a process starts and stops.
        """
        if self.place.home in _USED_HERE:
            yield self
            return
        with self._translated():
            self._make_home()
            users = (self.place.home / "users.lock").open("a+b")
        with users:
            with self._starting_or_stopping():
                fcntl.lockf(users, fcntl.LOCK_SH)
                try:
                    with self._translated():
                        self._start()
                except BaseException:
                    self._abandon()
                    raise
            _USED_HERE.add(self.place.home)
            try:
                yield self
            finally:
                _USED_HERE.remove(self.place.home)
                with self._starting_or_stopping():
                    if _locked(users):
                        self.stop()

    def process(self) -> str | None:
        """The process id of the running server, None when it is not running."""
        found = self._pid_file()
        return found[0].strip() if found and self._mark in _command_line(found[0]) else None

    def alive(self) -> bool:
        """Whether the server's process exists."""
        if self._child is not None and self._child.poll() is None:
            return True
        return self.process() is not None

    @property
    def exit_code(self) -> int | None:
        """How the server's process ended; None if it runs, or was started by another process than this."""
        return self._child.poll() if self._child is not None else None

    def revive(self) -> None:
        """Start the server again where it has died, for its users; any of them may. Errors: ServerError."""
        with self._starting_or_stopping(), self._translated():
            self._start()

    def start_again(self) -> None:
        """Start the server again if it has died; where that fails, a later attempt may succeed."""
        if not self.alive():
            with suppress(ServerError):
                self.revive()

    def check_disk(self) -> None:
        """Tell a failure of the server from what it has logged in this use.

        Errors: ServerError when its disk was full.
        """
        if self.place.log.exists() and cluster.is_of_full_disk(self._log_from(self._log_start)):
            raise ServerError(cluster.full_disk(self.place))

    # START

    def _start(self) -> None:
        """Start the server, or take over one that runs, and return once it accepts connections."""
        if self.process() is not None:
            self._log_start = self._log_size()
            self._wait_until_ready(self._log_start)
            return
        self._wait_for_remains()
        self._make_socket_folder()
        programs = cluster.binaries(self.place)
        cluster.check(self.place, programs)
        if not self.place.data.exists():
            self._say(f"Making a new database in {self.place.home}.")
            cluster.create(self.place, programs, sync=self._configuration.get("fsync") != "off")
        self._log_start = self._launch(programs)
        self._wait_until_ready(self._log_start)

    def _make_home(self) -> None:
        """The folder of the server's files, and those missing above it, which its account may pass."""
        at = self.place
        self._check_owner()
        if at.note and not at.note.exists():
            make_passable(at.note.parent)
            at.note.write_text(f"{at.home}\n")
        make_passable(at.home)

    def _make_socket_folder(self) -> None:
        at = self.place
        try:
            at.account.make_folder(at.socket)
        except FileExistsError:
            status = at.socket.lstat()
            if at.socket.is_symlink() or status.st_uid != at.account.uid or status.st_mode & 0o077:
                raise ServerError(
                    f"The socket's folder {at.socket} is not a private folder of {at.account.name}: "
                    "remove it and start again."
                ) from None

    def _check_owner(self) -> None:
        at = self.place
        for folder, expected in ((at.home, os.geteuid()), (at.data, at.account.uid)):
            if folder.exists() and (owner := folder.stat().st_uid) != expected:
                raise ServerError(
                    f"The database in {at.home} belongs to {_user_name(owner)}, not to "
                    f"{_user_name(expected)}: start the node as the user who made it, or give it a folder "
                    "of its own (SVC_MIRROR_DATA)."
                )

    def _wait_for_remains(self) -> None:
        """Wait for the processes of a killed server, which may still write and end by themselves in a moment.

        Raises ServerError when they stay, and for a server on this data that was started by other means.
        """
        deadline = time.monotonic() + _REMAINS_SECONDS
        while remains := [pid for pid in _processes() if self._mark in _command_line(pid)]:
            if time.monotonic() > deadline:
                raise ServerError(
                    f"Processes of a PostgreSQL that was killed still use {self.place.data}: "
                    f"end them ({', '.join(remains)}) and start again."
                )
            time.sleep(_POLL_SECONDS)
        found = self._pid_file()
        if found and Path("/proc", found[0].strip()).exists():
            if "postgres" in _command_line(found[0]):
                raise ServerError(
                    f"A PostgreSQL that was started by other means (process {found[0]}) uses "
                    f"{self.place.data}: stop it and start again."
                )
            # By now the number is that of another program, or of a dead process that its parent does not
            # collect; PostgreSQL would take either for a server.
            for lock in (self.place.data / "postmaster.pid", self.place.socket / f".s.PGSQL.{PORT}.lock"):
                lock.unlink(missing_ok=True)

    def _launch(self, programs: Path) -> int:
        """Start the server's process; returns where in the log its lines begin."""
        at = self.place
        arguments = cluster.configure(at, self._configuration)
        begin = self._log_size()
        if begin > _LOG_BYTES:
            at.log.rename(at.log.with_suffix(".log.1"))
            begin = 0
        with at.log.open("ab") as log:
            at.log.chmod(0o600)
            self._child = subprocess.Popen(
                [programs / "postgres", *arguments, "-c", f"cluster_name={self._mark}"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=at.data,
                env=cluster.ENVIRONMENT,
                umask=0o077,
                # Ctrl-C in the terminal is for the node, which stops the server after its clients.
                start_new_session=True,
                **at.account.process_options,
            )
        return begin

    def _wait_until_ready(self, log_start: int) -> None:
        began = reminded = time.monotonic()
        while True:
            found = self._pid_file()
            if found and len(found) > 7 and found[7].strip() == "ready" and self.process():
                return
            if not self.alive():
                raise ServerError(
                    cluster.explain(self.place, self._log_from(log_start), "stopped while starting")
                )
            now = time.monotonic()
            if now - reminded > (1 if reminded == began else _REMIND_SECONDS):
                unclean = "automatic recovery in progress" in self._log_from(log_start)
                doing = "repairs itself after an unclean stop" if unclean else "is starting"
                self._say(f"Waiting for PostgreSQL, which {doing} ({now - began:.0f} s so far).")
                reminded = now
            time.sleep(_POLL_SECONDS)

    # STOP

    def stop(self) -> None:
        """Disconnect everyone, write everything out and end; returns when the process is gone."""
        pid = self.process()
        if pid is None:
            self._collect()
            return
        os.kill(int(pid), signal.SIGINT)
        began = reminded = time.monotonic()
        while self.alive():
            now = time.monotonic()
            if now - began > _STOP_SECONDS:
                raise ServerError(
                    f"PostgreSQL (process {pid}) did not stop within {_STOP_SECONDS:.0f} seconds; "
                    f"its log is {self.place.log}."
                )
            if now - reminded > _REMIND_SECONDS:
                self._say(f"Waiting for PostgreSQL to write everything out ({now - began:.0f} s so far).")
                reminded = now
            time.sleep(_POLL_SECONDS)
        self._collect()

    def _abandon(self) -> None:
        """End a server that is starting: nobody waits for it any more."""
        if self._child is None:
            return
        self._child.send_signal(signal.SIGINT)
        try:
            self._child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            # It ends the processes it has started; what it was doing is done again at the next start.
            self._child.send_signal(signal.SIGQUIT)
        self._collect()

    def _collect(self) -> None:
        if self._child is not None:
            self._child.wait()
            self._child = None

    # FILES

    @contextmanager
    def _starting_or_stopping(self) -> Iterator[None]:
        """One command at a time starts or stops the server; others wait for it."""
        with self._translated():
            lock = (self.place.home / "start.lock").open("a+b")
        with lock:
            if not _locked(lock):
                self._say(
                    "Waiting for another command of the node, which is starting or stopping the database."
                )
                fcntl.lockf(lock, fcntl.LOCK_EX)
            yield

    def _pid_file(self) -> list[str] | None:
        """Lines of postmaster.pid: process, folder, start, port, socket, address, shared memory, state."""
        try:
            lines = (self.place.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return None
        return lines if lines and lines[0].strip().isdigit() else None

    def _log_size(self) -> int:
        return self.place.log.stat().st_size if self.place.log.exists() else 0

    def _log_from(self, start: int) -> str:
        with self.place.log.open("rb") as log:
            log.seek(start)
            return log.read(1_000_000).decode(errors="replace")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn what the operating system refuses into a ServerError."""
        try:
            yield
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise ServerError(cluster.explain(self.place, "No space left on device", "")) from error
            what = error.filename or "a system call"
            raise ServerError(
                f"The database in {self.place.home} can't be used: {what}: {error.strerror}."
            ) from error


@contextmanager
def in_use(data_folder: Path, say: Say = _silent) -> Iterator[Server]:
    """Have the server of `data_folder` running for the length of the block; see Server.in_use."""
    with Server(place(data_folder), say=say).in_use() as server:
        yield server


def _locked(lock: IO[bytes]) -> bool:
    """Take the lock for this process alone, if no other process holds it."""
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def make_passable(folder: Path) -> None:
    """Make `folder` and those missing above it, open to pass for every account, whatever the umask."""
    if not folder.exists():
        make_passable(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711)


def _processes() -> list[str]:
    return [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _command_line(pid: str) -> str:
    """What a process shows as its command; empty when it does not exist, or ended and was not reaped yet."""
    try:
        shown = Path("/proc", pid.strip(), "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return shown.replace(b"\0", b" ").decode(errors="replace")


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user number {uid}"
