"""The node's own PostgreSQL as a primary: what lets replicas on other machines follow it, by setting.

Access: the addresses of the setting, with the role `mirror_replica` and its password, which is stored in the
data folder. That role copies all data, and may do nothing else. Off by default, and costs nothing then.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from mirror.core import config
from mirror.core.config import reverse_proxies
from mirror.core.processes.files import write_secret
from mirror.node.postgres.installation import ServerPaths

SETTING = "db.replicas"
ROLE = "mirror_replica"

# A replica that was away for less than this many bytes of changes goes on by itself.
_CONFIGURATION: Mapping[str, str] = {
    "listen_addresses": "'*'",
    "wal_level": "replica",
    "max_wal_senders": "10",
    "wal_keep_size": "2GB",
    # One with a slot may be away for longer, but must not fill the disk.
    "max_slot_wal_keep_size": "20GB",
    "password_encryption": "'scram-sha-256'",
}


def is_on() -> bool:
    """Return whether the setting names addresses of replicas."""
    return bool(config.value(SETTING))


def configuration() -> Mapping[str, str]:
    """Return the additional configuration of a primary, and of a replica of it."""
    return _CONFIGURATION if is_on() else {}


def access() -> str:
    """Return the lines of pg_hba.conf for replicas. Errors: InvalidSetting."""
    if not is_on():
        return ""
    reverse_proxies.check(SETTING)
    lines = ["local replication all peer map=node"]
    for address in config.value(SETTING):
        # pg_hba.conf wants the length of a network, also for a single address.
        network = address if "/" in address else f"{address}/{128 if ':' in address else 32}"
        lines.append(f"host replication {ROLE} {network} scram-sha-256")
    return "".join(f"{line}\n" for line in lines)


def password_file(data_folder: Path) -> Path:
    return data_folder / "replica-password"


def make_role(paths: ServerPaths, database: str, data_folder: Path) -> None:
    """Make the role with a new password, unless there is one, or this is a replica itself."""
    if not is_on():
        return
    address = make_conninfo(host=str(paths.socket), user="postgres", dbname=database)
    with psycopg.connect(address, autocommit=True) as superuser:
        known = superuser.execute(
            "select pg_is_in_recovery() or exists (select from pg_roles where rolname = %s)", [ROLE]
        )
        if known.fetchone() == (True,):
            return
        password = secrets.token_urlsafe(24)
        # The file comes first: a role whose password is lost could not be used.
        write_secret(password_file(data_folder), password)
        create = sql.SQL("create role {} login replication password {}")
        superuser.execute(create.format(sql.Identifier(ROLE), sql.Literal(password)))
