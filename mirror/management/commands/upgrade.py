"""`manage.py upgrade`: change the rows that an older release has written."""

from typing import Any

from django.core.management.base import BaseCommand

from mirror.node import database
from mirror.node.tables import make_tables
from mirror.node.upgrading import remaining, runner
from mirror.node.upgrading.display import shown
from mirror.processes import signals


class Command(BaseCommand):
    help = (
        "Bring a database that an older release has filled up to date: its tables at once, its rows piece by "
        "piece, while everything else goes on. Ctrl-C stops it; the next one goes on where it was. "
        "`manage.py up` does this by itself."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        with database.ready(self.stdout.write) as server:
            make_tables(self.stdout.write)
            if not remaining.names():
                self.stdout.write("Nothing to do: no row of an older release is left to change.")
                return
            with shown(self.stdout.write) as show:
                done = runner.run(show, signals.stop_event(), server.start_again if server else None)
        self.stdout.write(
            "Done: all rows are as this release writes them."
            if done
            else "Stopped as asked: `manage.py upgrade` goes on from here."
        )
