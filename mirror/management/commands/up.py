"""`manage.py up`: a whole node - database, tables, demo stream, web server - until Ctrl-C."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from mirror.node import up as node


class Command(BaseCommand):
    help = "Run a whole node: start its database, make its tables, load the demo stream, serve; Ctrl-C stops."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--live",
            action="store_true",
            help="let the demo network go on: a block every two seconds, made and loaded as you watch",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        node.up(self._say, live=options["live"])

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        # What is not written out yet would be written again by each of the processes started next.
        self.stdout.flush()
