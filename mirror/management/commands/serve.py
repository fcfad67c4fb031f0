"""`manage.py serve`: the web server alone, on a database that other commands fill."""

from typing import Any

from mirror.management.command import NodeCommand
from mirror.start import up


class Command(NodeCommand):
    outlasts_output = True
    help = (
        "Run the web server alone, with its database if that is not running yet. Ctrl-C stops it. Nothing is "
        "loaded."
    )
    when = (
        "Use it where `manage.py ingest` loads in a process or on a machine of its own, and for further web "
        "servers on one database. `manage.py up` does both."
    )
    examples = (
        ("serve", "API, admin and pages at http://127.0.0.1:8000; PORT and SVC_MIRROR_WEB_HOST change that."),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        up.serve(self.echo)
