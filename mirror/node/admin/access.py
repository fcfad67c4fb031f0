"""Access to the admin: the key of its sessions, and its first account.

Both are made at the first start, and stored in the data folder, in files that only the operator may read.
"""

import secrets
from pathlib import Path
from typing import Any

from mirror.core.config.setting import OperatorError
from mirror.core.processes.files import write_secret

ADMIN = "admin"


def session_key_file(data_folder: Path) -> Path:
    return data_folder / "session-key"


def password_file(data_folder: Path) -> Path:
    return data_folder / "admin-password"


def stored_session_key(data_folder: Path) -> str | None:
    """Return the key made at the first start; None before that, or for a user who may not read it."""
    try:
        return session_key_file(data_folder).read_text().strip() or None
    except OSError:
        return None


def session_key(data_folder: Path) -> str:
    """Return the key made at the first start; make it if this is the first."""
    stored = stored_session_key(data_folder)
    if stored is None:
        stored = secrets.token_urlsafe(50)
        write_secret(session_key_file(data_folder), stored)
    return stored


def make_admin(data_folder: Path) -> None:
    """Make the account `admin` with a new password, unless the database has an administrator."""
    from django.contrib.auth import get_user_model

    if not get_user_model()._default_manager.filter(is_superuser=True, is_active=True).exists():
        new_password(data_folder, ADMIN, to_file=True)


def new_password(data_folder: Path, name: str, *, to_file: bool) -> str:
    """Give an account a new password, which ends its sessions, and return it, `to_file` as well.

    The account `admin` is made if it is missing, and let in again if it was shut out. Errors: OperatorError.
    """
    from django.contrib.auth import get_user_model

    users = get_user_model()._default_manager
    if name == ADMIN:
        user, _ = users.get_or_create(username=ADMIN)
        user.is_staff = user.is_superuser = user.is_active = True
    else:
        user = account(name)
    password = secrets.token_urlsafe(12)
    # The file comes first: an account whose password is lost could not be used.
    if to_file:
        write_secret(password_file(data_folder), password)
    user.set_password(password)
    user.save()
    return password


def account(name: str) -> Any:
    """Return an account of the admin. Errors: OperatorError."""
    from django.contrib.auth import get_user_model

    user = get_user_model()._default_manager.filter(username=name).first()
    if user is None:
        raise OperatorError(f"The admin has no account {name}: /admin makes accounts, and lists them.")
    return user
