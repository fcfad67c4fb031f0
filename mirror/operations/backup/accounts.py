"""The admin accounts in a backup."""

from dataclasses import replace

import psycopg
from django.apps import apps
from django.contrib.auth import get_user_model

from mirror.operations.backup.files import copy_rows
from mirror.operations.backup.manifest import BACKUP, DamagedBackup, Manifest
from mirror.operations.backup.sessions import Session, Task

# Tables that refer to each other.
_APPS = {"admin", "auth", "contenttypes"}
_LISTED = 20
_STAGING = "accounts_of_backup"
_ACCOUNTS = f"""
    select username, is_superuser::boolean, is_staff::boolean, is_active::boolean from {_STAGING}
    order by 2 desc, 3 desc, 4 desc, 1"""


def left_out(manifest: Manifest) -> Manifest:
    """Return the manifest without accounts, groups, permissions and the admin's log."""
    models = apps.get_models(include_auto_created=True)
    names = {model._meta.db_table for model in models if model._meta.app_label in _APPS}
    return replace(
        manifest,
        tables={name: table for name, table in manifest.tables.items() if name not in names},
        files=[file for file in manifest.files if file.table not in names],
    )


def echo_accounts(task: Task, first: Session, manifest: Manifest) -> None:
    """Print the accounts of a backup, before anything is loaded. Errors: DamagedBackup; Stopped."""
    if manifest.folder_kind != BACKUP:
        return
    found = _accounts(task, first, manifest)
    if not found:
        task.echo("No account of another node is restored.")
        return
    more = f" and {len(found) - _LISTED:,} more" if len(found) > _LISTED else ""
    task.echo(
        f"The backup has {len(found):,} accounts, which this node lets in with their passwords: "
        f"{', '.join(found[:_LISTED])}{more}. --without-accounts leaves them out."
    )


def _accounts(task: Task, first: Session, manifest: Manifest) -> list[str]:
    name = get_user_model()._meta.db_table
    files = [file for file in manifest.files if file.table == name]
    if not files:
        return []
    # As text, in a table of this session: the tables themselves may not exist yet.
    columns = ", ".join(f'"{column}" text' for column in manifest.tables[name].columns)
    with first.transaction(force_rollback=True):
        first.execute(f"create temporary table {_STAGING} ({columns})".encode())
        for file in files:
            copy_rows(task, first, manifest, file, into=_STAGING)
        try:
            return [_described(*row) for row in first.execute(_ACCOUNTS)]
        except (psycopg.DataError, psycopg.errors.UndefinedColumn) as error:
            raise DamagedBackup(f"The backup in {task.folder} has no readable accounts: {error}") from error


def _described(username: str | None, is_superuser: bool, is_staff: bool, is_active: bool) -> str:
    rights = "superuser" if is_superuser else "staff" if is_staff else "no access to the admin"
    return f"{username!r} ({rights if is_active else 'inactive'})"
