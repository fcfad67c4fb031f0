"""`manage.py up`: a whole node, with database, tables, demo network and web server, until Ctrl-C."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from mirror.node import up as node
from mirror.processes import signals


class Command(BaseCommand):
    help = "Run a whole node: database, tables, demo network or followed stream, web server; Ctrl-C stops it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--live",
            action="store_true",
            help="let the demo network go on, with a new block every two seconds",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        signals.begin_in_order()
        node.up(self.stdout.write, live=options["live"])
