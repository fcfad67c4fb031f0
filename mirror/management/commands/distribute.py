"""`manage.py distribute`: distribute the tables over the machines of Citus."""

from typing import Any

from django.core.management.base import CommandError

from ledger.ingest.loader_lock import loader_lock
from mirror.core.db.distribution import cluster, is_distributed
from mirror.core.values.human_readable import byte_size
from mirror.management.command import NodeCommand, UsageError, argument
from mirror.start import database
from mirror.upgrade import remaining
from mirror.upgrade.tables import check_migrated


class Command(NodeCommand):
    database = "existing"
    writes = True
    help = (
        "Distribute the tables over the machines of Citus, those with rows too. DATABASE_URL names the "
        "coordinator, and SVC_MIRROR_DB_DISTRIBUTED=true says that it is one. It may be stopped: the next "
        "one goes on with the next table."
    )
    when = (
        "Use it for a database that was loaded before it had several machines. `manage.py up` and `manage.py "
        "ingest` distribute a new one by themselves. Nothing may load meanwhile."
    )
    examples = (
        ("distribute --estimate", "Says which tables would be distributed, and how large they are."),
        ("distribute", "Distributes them."),
    )
    arguments = (argument("--estimate", "say what would be distributed, and distribute nothing"),)

    def handle(self, *args: Any, **options: Any) -> None:
        with database.ready(self.echo, make=False):
            if not is_distributed():
                raise UsageError(
                    "SVC_MIRROR_DB_DISTRIBUTED=true has to say that the database is a coordinator of Citus, "
                    "to this command and to all others."
                )
            check_migrated()
            self._advise()
            if options["estimate"]:
                self._estimate()
                return
            if remaining.names():
                raise CommandError(
                    "Rows of an older release are left to change: `manage.py upgrade` first, and without "
                    "SVC_MIRROR_DB_DISTRIBUTED."
                )
            with loader_lock():
                distributed = cluster.distribute(lambda table: self.echo(f"Distributing {table}."))
        self.echo(
            f"Distributed {len(distributed)} tables."
            if distributed
            else "All tables are distributed: nothing to do."
        )

    def _advise(self) -> None:
        cluster.check_coordinator()
        if slow := cluster.slow_workers():
            self.echo(
                f"Set random_page_cost = 1.1 and jit = off in PostgreSQL on {', '.join(slow)}, as plans for "
                "the node's requests are slow otherwise."
            )

    def _estimate(self) -> None:
        sizes, machines = cluster.sizes(), len(cluster.workers())
        for table, size in sizes.items():
            self.echo(f"  {table:<44} {byte_size(size):>12}")
        self.echo(
            f"{len(sizes)} tables of {byte_size(sum(sizes.values()))} would be distributed over {machines} "
            "machines."
        )
