"""`manage.py drop`: drop old months of the tables that are partitioned by month."""

import re
from typing import Any

from django.core.management.base import CommandError

from mirror.core.db import statements
from mirror.core.db.partitions import dropping
from mirror.core.db.partitions.catalogue import TIME, partitioned_tables
from mirror.core.db.partitions.dropping import ExpiredPartition
from mirror.core.logs import Echo
from mirror.core.values.human_readable import byte_size
from mirror.core.values.timestamp import month_start, parse_iso
from mirror.management.command import NodeCommand, UsageError, argument
from mirror.operations.retention import pruning
from mirror.start import database
from mirror.upgrade.tables import check_current


class Command(NodeCommand):
    database = "existing"
    writes = True
    help = (
        "Drop the transactions of old months, for good, while the node answers and loads. Only tables that "
        "are partitioned by month lose rows (see SVC_MIRROR_DB_PARTITIONS). Entities, tokens, balances, "
        "blocks and the state of contracts stay."
    )
    when = "Use it to make room on the disk. It takes milliseconds for each table."
    examples = (
        ("drop --before 2024-06 --estimate", "Says how large the months before June 2024 are."),
        ("drop --before 2024-06", "Drops them."),
    )
    arguments = (
        argument("--before YYYY-MM", "the first month (UTC) that stays", required=True),
        argument("--estimate", "say what would be dropped, and drop nothing"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        first = _month(options["before"])
        with database.ready(self.echo):
            check_current()
            _check(first)
            old = dropping.expired(first)
            drop(old, self.echo, estimate=options["estimate"])


def drop(old: list[ExpiredPartition], echo: Echo, *, estimate: bool) -> None:
    if estimate:
        for partition in old:
            echo(f"  {partition.partition.name:<44} {byte_size(partition.bytes):>12}")
        echo(f"{len(old)} partitions of {_size(old)} would be dropped.")
    elif dropped := pruning.drop(old, lambda partition: echo(f"Dropped {partition.partition.name}.")):
        echo(f"Dropped {len(dropped)} partitions of {_size(dropped)}.")
    else:
        echo("No partition is that old: nothing to drop.")


def _size(partitions: list[ExpiredPartition]) -> str:
    return byte_size(sum(partition.bytes for partition in partitions))


def _month(text: str) -> int:
    if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", text):
        raise UsageError(f"--before {text} is no month such as 2024-06.")
    return parse_iso(f"{text}-01")


def _check(first: int) -> None:
    """Raise CommandError if nothing is partitioned, or the month of the last transaction would go."""
    if not partitioned_tables():
        raise CommandError(
            "The tables are not partitioned by month: SVC_MIRROR_DB_PARTITIONS=true and `manage.py upgrade` "
            "partition them."
        )
    last = statements.value(f"select max({TIME}) from transaction")
    if last is None or first > month_start(last):
        raise UsageError("The month of the last transaction stays: name it, or one before it.")
