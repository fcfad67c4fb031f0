"""`manage.py serve`: the web server alone, on a database that is filled by others."""

from typing import Any

from django.core.management.base import BaseCommand

from mirror.node import up


class Command(BaseCommand):
    help = "Run the web server alone (with the node's database, if that is not running yet); Ctrl-C stops."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        up.serve(self._say)

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        # What is not written out yet would be written again by each of the processes started next.
        self.stdout.flush()
