"""`manage.py prune`: drop what is older than the tables keep."""

from argparse import ArgumentParser
from typing import Any

from mirror.core import config
from mirror.core.values.human_readable import byte_size
from mirror.management.command import NodeCommand
from mirror.node.start.tables import check_current
from mirror.operations.retention import plan, pruning


class Command(NodeCommand):
    help = (
        "Drop transactions that are older than the settings of retention keep, for good. The node answers "
        "and loads meanwhile. Only tables that are divided by month lose rows (see "
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

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--period",
            metavar="PERIOD",
            help="how long rows are kept, counted back from the last block; by default as "
            "importer.retention.period says, and importer.retention.tables for single tables",
        )
        parser.add_argument(
            "--table",
            action="append",
            default=[],
            metavar="TABLE[=PERIOD]",
            help="prune this table and no others; may be given several times",
        )
        parser.add_argument(
            "--estimate", action="store_true", help="say what would be dropped, and drop nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        check_current()
        planned = plan.plan(self._periods(options))
        if planned.whole:
            self.stdout.write(f"Not divided by month, and therefore left: {', '.join(planned.whole)}.")
        if options["estimate"]:
            for each in planned.old:
                self.stdout.write(f"  {each.partition.name:<44} {byte_size(each.bytes):>12}")
            self.stdout.write(
                f"{len(planned.old)} partitions of {byte_size(planned.bytes)} would be dropped."
            )
            return
        dropped = pruning.drop(planned.old, lambda each: self.stdout.write(f"Dropped {each.partition.name}."))
        self.stdout.write(
            f"Dropped {len(dropped)} partitions of {byte_size(sum(each.bytes for each in dropped))}."
            if dropped
            else "No partition is that old: nothing to drop."
        )

    def _periods(self, options: dict[str, Any]) -> dict[str, float]:
        """Return how long the tables of the options, or of the settings, are kept."""
        kept = plan.periods()
        given = options["period"]
        period = None if given is None else plan.period_of("--period", given)
        if not options["table"]:
            return dict.fromkeys(kept, period) if period else kept
        parts = [text.partition("=") for text in options["table"]]
        # An empty period after the sign is a mistake, such as a variable without a value.
        named = {table: text if sign else None for table, sign, text in parts}
        plan.check_names("--table", list(named))
        default = period or config.value("importer.retention.period")
        return {
            table: (period or kept.get(table, default)) if text is None else plan.period_of("--table", text)
            for table, text in named.items()
        }
