"""`manage.py grant`: a role of the database that reads the ledger and can't change it."""

from argparse import ArgumentParser
from typing import Any
from urllib.parse import quote

from django.db import connection

from mirror import config
from mirror.management.command import NodeCommand
from mirror.node import reader
from mirror.node.postgres.cluster import READER
from mirror.node.tables import check_current


class Command(NodeCommand):
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

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("role", nargs="?", default=READER, metavar="ROLE", help=f"by default {READER}")

    def handle(self, *args: Any, **options: Any) -> None:
        role, has_passwords = options["role"], bool(config.value("db.url"))
        check_current()
        password = reader.new_password() if has_passwords else None
        is_new = reader.grant(role, password=password)
        variable = config.described(reader.SETTING).variable
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
        self.stdout.write(f"{role} may read every table. {cure}")


def _url(role: str, password: str) -> str:
    parts = connection.settings_dict
    host, port = str(parts["HOST"]), parts["PORT"]
    where = "" if host.startswith("/") else f"{host}:{port}" if port else host
    socket = f"?host={quote(host)}" if host.startswith("/") else ""
    return f"postgresql://{role}:{quote(password)}@{where}/{quote(parts['NAME'])}{socket}"
