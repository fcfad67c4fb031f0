"""`manage.py prune`: drop rows that are older than the retention periods."""

from typing import Any

from mirror.core import config
from mirror.management.command import NodeCommand, argument
from mirror.management.commands.drop import drop
from mirror.operations.retention import plan
from mirror.upgrade.tables import check_current


class Command(NodeCommand):
    database = "existing"
    writes = True
    help = (
        "Drop transactions that are older than the settings of retention keep, for good. The node answers "
        "and loads meanwhile. Only tables that are partitioned by month lose rows (see "
        "SVC_MIRROR_DB_PARTITIONS), and only whole months go. Entities, tokens, balances, blocks and the "
        "state of contracts stay."
    )
    when = (
        "Use it to make room on the disk. With SVC_MIRROR_IMPORTER_RETENTION_ENABLED=true `manage.py up` and "
        "`manage.py ingest --follow` do it by themselves."
    )
    examples = (
        ("prune --estimate", "Says what the settings would drop."),
        ("prune --period 365d", "Drops what is older than a year."),
        ("prune --table contract_action=30d", "Drops old rows of that table alone."),
    )
    arguments = (
        argument("--period PERIOD", "how long rows are kept, counted back from the last block; by default as "
                 "importer.retention.period says, and importer.retention.tables for single tables"),
        argument("--table TABLE[=PERIOD]", "prune this table and no others; may be given several times",
                 action="append", default=[]),
        argument("--estimate", "say what would be dropped, and drop nothing"),
    )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        check_current()
        planned = plan.plan(self._periods(options))
        if planned.unpartitioned:
            self.echo(f"Not partitioned by month, and therefore left: {', '.join(planned.unpartitioned)}.")
        drop(planned.expired, self.echo, estimate=options["estimate"])

    def _periods(self, options: dict[str, Any]) -> dict[str, float]:
        """Return the retention periods (s) of the tables of the options, or of the settings."""
        by_table = plan.periods()
        option = options["period"]
        period = None if option is None else plan.parse_period("--period", option)
        if not options["table"]:
            return dict.fromkeys(by_table, period) if period else by_table
        parts = [text.partition("=") for text in options["table"]]
        # An empty period after the sign is a mistake, such as a variable without a value.
        named = {table: text if sign else None for table, sign, text in parts}
        plan.check_names("--table", list(named))
        default = period or config.value("importer.retention.period")
        return {
            table: (period or by_table.get(table, default))
            if text is None
            else plan.parse_period("--table", text)
            for table, text in named.items()
        }
