"""`manage.py upgrade`: change the rows that an older release has written."""

from typing import Any

from mirror.core import metrics
from mirror.core.processes import signals
from mirror.management.command import NodeCommand
from mirror.start import database
from mirror.upgrade import remaining, runner
from mirror.upgrade.progress import shown
from mirror.upgrade.tables import make_tables


class Command(NodeCommand):
    database = "new"
    writes = True
    outlasts_output = True
    help = (
        "Bring a database of an older release up to date. Its tables are changed at once, then its rows, "
        "piece by piece, while the node answers and loads. It may be stopped: the next one goes on there."
    )
    when = (
        "Use it after installing a new release, where `manage.py up` does not run: that does the same by "
        "itself. `manage.py status` says whether anything is left, and how long it takes."
    )
    examples = (("upgrade", "Changes what is left to change, and says so when nothing is."),)

    def handle(self, *args: Any, **options: Any) -> None:
        with database.ready(self.echo) as server:
            make_tables(self.echo)
            if not remaining.names():
                self.echo("Nothing to do: no row of an older release is left to change.")
                return
            metrics.start("upgrade")
            with shown(self.echo) as show:
                is_done = runner.run(show, signals.stop_event(), server.ensure_up if server else None)
        self.echo(
            "Done: all rows are as this release writes them."
            if is_done
            else "Stopped as asked: `manage.py upgrade` goes on from here."
        )
