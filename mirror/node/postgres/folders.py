"""The folders of a server's files: who owns them, and who may pass them."""

import os
import pwd
from pathlib import Path

from mirror.node.postgres.cluster import ServerError
from mirror.node.postgres.installation import Place


def make_home(place: Place) -> None:
    """Make the folder of the server's files and those missing above it, which the server's account may pass.

    Errors: ServerError where the files belong to another user.
    """
    _check_owner(place)
    if place.note and not place.note.exists():
        make_passable(place.note.parent)
        place.note.write_text(f"{place.home}\n")
    make_passable(place.home)


def make_socket_folder(place: Place) -> None:
    """Make the folder of the socket. Errors: ServerError for one that is not private."""
    try:
        place.account.make_folder(place.socket)
    except FileExistsError:
        status = place.socket.lstat()
        if place.socket.is_symlink() or status.st_uid != place.account.uid or status.st_mode & 0o077:
            raise ServerError(
                f"The socket's folder {place.socket} is not a private folder of {place.account.name}: "
                "remove it and start again."
            ) from None


def make_passable(folder: Path) -> None:
    """Make `folder` and those missing above it, which every account may pass, whatever the umask."""
    if not folder.exists():
        make_passable(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711)


def _check_owner(place: Place) -> None:
    for folder, expected in ((place.home, os.geteuid()), (place.data, place.account.uid)):
        if folder.exists() and (owner := folder.stat().st_uid) != expected:
            raise ServerError(
                f"The database in {place.home} belongs to {_user_name(owner)}, not to "
                f"{_user_name(expected)}: start the node as the user who made it, or give it a folder "
                "of its own (SVC_MIRROR_DATA)."
            )


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user number {uid}"
