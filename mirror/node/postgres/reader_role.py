"""The role with which the web server and contract calls read the database: even a fault of ours can't write.

`manage.py grant` makes it and lets it read every table, those of later releases and months included. It may
write only what the web server itself writes: sessions and accounts of the admin, its log of changes, and the
rows of models that say `written_by_web_server`.
"""

import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import psycopg
from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from psycopg import sql

from mirror.core import config
from mirror.core.config.database import parse_url
from mirror.core.config.setting import InvalidSetting, OperatorError
from mirror.core.db import statements
from mirror.node.postgres.cluster import READER

SETTING = "db.reader"

# Django's apps whose tables the admin writes.
_WRITTEN_APPS = ("admin", "auth", "otp_totp", "sessions")
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_URL = re.compile(r"postgres(ql)?://")
# One table is enough to see what a role may do: all of the ledger's have the same privileges.
_LEDGER_TABLE = "record_file"
_SUPERUSER = "postgres"
# Default privileges are those of months, and of tables of later releases.
_READ = sql.SQL("""
    grant connect on database {database} to {role};
    grant usage on schema {schema} to {role};
    grant select on all tables in schema {schema} to {role};
    alter default privileges in schema {schema} grant select on tables to {role}""")
_WRITE = sql.SQL("grant insert, update, delete on {table} to {role}")
_NUMBER = sql.SQL("grant usage on sequence {sequence} to {role}")
_SEQUENCES = """
    select pg_get_serial_sequence(%(table)s, attname) from pg_attribute
    where attrelid = to_regclass(%(table)s) and attidentity <> ''"""


def configured() -> dict[str, Any] | None:
    """Return the settings of the reader's connection that differ from the owner's; None without a reader.

    Errors: InvalidSetting.
    """
    text = config.value(SETTING)
    if not text:
        return None
    if _URL.match(text):
        return parse_url(text, config.lookup(SETTING).variable)
    if not _NAME.fullmatch(text):
        raise InvalidSetting(
            f"{config.lookup(SETTING).variable} is neither the name of a role such as {READER} nor an "
            f"address such as postgresql://{READER}:password@host:5432/name."
        )
    return {"USER": text, "PASSWORD": ""}


def use() -> None:
    """Have the connections that this process opens from now on be those of the reader, if there is one."""
    if changes := configured():
        connections.close_all()
        connections.settings[DEFAULT_DB_ALIAS].update(changes)


# THE ROLE


def grant(name: str, *, password: str | None = None) -> bool:
    """Make a role if there is none of this name, and let it read; return whether it has been made.

    Errors: OperatorError.
    """
    if not _NAME.fullmatch(name):
        raise OperatorError(f"{name} is no name of a role such as {READER}: lower case, digits, underscores.")
    is_new = not _exists(name)
    if is_new:
        _make(name, password)
    _check_may_only_read(name)
    role = sql.Identifier(name)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select current_schema(), current_database()")
        schema, database = map(sql.Identifier, cursor.fetchone())
        cursor.execute(_READ.format(schema=schema, database=database, role=role))
        for table in written_tables():
            cursor.execute(_WRITE.format(table=sql.Identifier(table), role=role))
            cursor.execute(_SEQUENCES, {"table": table})
            for (sequence,) in cursor.fetchall():
                cursor.execute(_NUMBER.format(sequence=sql.SQL(sequence), role=role))
    return is_new


def grant_again() -> None:
    """Let the reader of the settings write what a new release of the web server writes, if it is a role here.

    The node's own database gets its reader here, too.
    """
    changes = configured()
    if changes and (_exists(changes["USER"]) or not config.value("db.url")):
        grant(changes["USER"])


def check() -> None:
    """Raise OperatorError if the reader of the settings can't read, or may write."""
    changes = configured()
    if changes is None:
        return
    variable = config.lookup(SETTING).variable
    made_by = f"`manage.py grant` makes a role that can (the role of {variable})"
    try:
        with psycopg.connect(**_parameters(changes)) as attempt:
            answer = attempt.execute(
                "select current_user, has_table_privilege(%(table)s, 'select'), "
                "has_table_privilege(%(table)s, 'insert')",
                {"table": _LEDGER_TABLE},
            )
            name, reads, writes = answer.fetchone() or ("", False, False)
    except psycopg.Error as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise OperatorError(f"The role of {variable} can't be used: {reason}. {made_by}.") from error
    if not reads:
        raise OperatorError(f"The role {name} of {variable} may not read the tables: {made_by}.")
    if writes:
        raise OperatorError(
            f"The role {name} of {variable} may write to the tables of the ledger: {made_by}, and only reads."
        )


def new_password() -> str:
    return secrets.token_urlsafe(24)


def written_tables() -> list[str]:
    return sorted(
        model._meta.db_table
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label in _WRITTEN_APPS or getattr(model, "written_by_web_server", False)
    )


def _exists(name: str) -> bool:
    return bool(statements.value("select exists (select from pg_roles where rolname = %s)", [name]))


def _make(name: str, password: str | None) -> None:
    create = sql.SQL("create role {} login").format(sql.Identifier(name))
    if password is not None:
        create += sql.SQL(" password {}").format(sql.Literal(password))
    if not config.value("db.url"):
        # The owner of the node's own database makes no roles, but the same account may act as the superuser.
        superuser = psycopg.connect(**_parameters({"USER": _SUPERUSER}), autocommit=True)
        # Another command may just have made it.
        with superuser, suppress(psycopg.errors.DuplicateObject):
            superuser.execute(create)
        return
    with connection.cursor() as cursor:
        cursor.execute("select rolcreaterole or rolsuper, rolname from pg_roles where rolname = current_user")
        may_make, owner = cursor.fetchone()
        if not may_make:
            raise OperatorError(
                f"The role {owner} of DATABASE_URL may not make roles: let a superuser run "
                f"`create role {name} login password '...'`, and then this command again."
            )
        cursor.execute(create)


def _check_may_only_read(name: str) -> None:
    """Raise OperatorError if a role has other ways to write."""
    is_superuser, makes_roles, is_owner = statements.row(
        "select rolsuper, rolcreaterole, pg_has_role(rolname, current_user, 'member') "
        "from pg_roles where rolname = %s",
        [name],
    )
    if is_superuser or makes_roles or is_owner:
        why = "is a superuser" if is_superuser else "may make roles" if makes_roles else "owns the tables"
        raise OperatorError(f"The role {name} {why}, so it can't be kept from writing: name another one.")


def _parameters(changes: Mapping[str, Any]) -> dict[str, Any]:
    other = connections.create_connection(DEFAULT_DB_ALIAS)
    other.settings_dict = {**connections.settings[DEFAULT_DB_ALIAS], **changes}
    parameters: dict[str, Any] = other.get_connection_params()
    return parameters
