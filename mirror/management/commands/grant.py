"""`manage.py grant`: a role of the database that reads the ledger and can't change it."""

from itertools import zip_longest
from typing import Any
from urllib.parse import quote, urlencode

from psycopg.conninfo import conninfo_to_dict

from mirror.core import config
from mirror.management.command import NodeCommand, argument
from mirror.node.postgres import reader_role
from mirror.node.postgres.cluster import READER
from mirror.upgrade.tables import check_current


class Command(NodeCommand):
    database = "existing"
    writes = True
    help = (
        "Let a role of the database read the ledger, and make the role if there is none of its name. It may "
        "write only what the web server itself keeps: sessions and accounts of the admin, and its charts."
    )
    when = (
        "Use it before you set SVC_MIRROR_DB_READER, so that the web server and contract calls could not "
        "change the ledger even by a fault; and again after each upgrade. Tables that are made later may be "
        "read at once. The node's own database needs no such command: there the setting is enough."
    )
    examples = (
        ("grant", f"Makes the role {READER}, and prints the setting with its password."),
        ("grant dashboards", "Lets the role dashboards read, too."),
    )
    arguments = (argument("role ROLE", f"by default {READER}", nargs="?", default=READER),)

    def handle(self, *args: Any, **options: Any) -> None:
        role, has_passwords = options["role"], bool(config.value("db.url"))
        check_current()
        password = reader_role.new_password() if has_passwords else None
        is_new = reader_role.grant(role, password=password)
        variable = config.lookup(reader_role.SETTING).variable
        if password is None:
            cure = f"{variable}={role} has the web server use it."
        elif is_new:
            cure = (
                "Its password is in the setting with which the web server uses it:\n"
                f"{variable}={_url(role, password)}"
            )
        else:
            cure = (
                f"It was there already, and has the password that it had: {variable}={_url(role, 'PASSWORD')}"
            )
        self.echo(f"{role} may read every table. {cure}")


def _url(role: str, password: str) -> str:
    """Return db.url with another role: its hosts, ports, database and options."""
    parts = conninfo_to_dict(config.value("db.url"))
    hosts, ports = (str(parts.pop(name, "")).split(",") for name in ("host", "port"))
    name = quote(str(parts.pop("dbname")))
    options = {key: str(value) for key, value in parts.items() if key not in ("user", "password", "passfile")}
    where = ""
    if any(host.startswith("/") for host in hosts):
        options |= {"host": ",".join(hosts)} | ({"port": ",".join(ports)} if any(ports) else {})
    else:
        pairs = zip_longest(hosts, ports if len(ports) > 1 else ports * len(hosts), fillvalue="")
        where = ",".join(
            f"{_in_brackets(host)}:{port}" if port else _in_brackets(host) for host, port in pairs
        )
    query = f"?{urlencode(options, quote_via=quote)}" if options else ""
    return f"postgresql://{role}:{quote(password)}@{where}/{name}{query}"


def _in_brackets(host: str) -> str:
    return f"[{host}]" if ":" in host else host
