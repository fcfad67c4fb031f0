"""`manage.py serve`: the web server alone, on a database that other commands fill."""

from typing import Any

from django.core.management.base import BaseCommand

from mirror.node import up
from mirror.processes import signals


class Command(BaseCommand):
    help = "Run the web server alone (and its database, if that is not running yet); Ctrl-C stops it."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        signals.begin_in_order()
        up.serve(self.stdout.write)
