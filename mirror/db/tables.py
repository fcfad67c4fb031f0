"""What a table is that Django's Meta can't say. A model names it as a base; `mirror.db.backend` honours it.

Migrations keep plain base classes, so the tables come out of ordinary CreateModel operations.
"""

from typing import Any, NamedTuple

from django.core.checks import CheckMessage


class KeylessTable:
    """A table without a primary key. The model's composite key is for Django alone: nothing enforces it.

    Rows that agree in all of its columns may exist, and a column of it may be nullable in the database.
    """

    @classmethod
    def check(cls, **options: Any) -> list[CheckMessage]:
        found: list[CheckMessage] = super().check(**options)  # type: ignore[misc]
        return [message for message in found if message.id != "models.E042"]


class PartitionedTable:
    """A table divided by `partition_by`, the text after PARTITION BY."""

    partition_by = ""


class MonthlyPartitions(PartitionedTable):
    """One partition per calendar month (UTC) of the consensus timestamp; see `mirror.db.partitions`."""

    partition_by = "RANGE (consensus_timestamp)"


class HashPartitions(PartitionedTable):
    """32 partitions by the first byte of the hash, so that a lookup by hash reads one of them."""

    partition_by = "LIST (mod(get_byte(hash, 0), 32))"


class Compared(NamedTuple):
    """The part of a table that `verify` compares with the rows of the files; a model has it as `compared`.

    `time` is the column of the consensus timestamp. Rows are found by it, or by `found_by`, an indexed column
    or expression. Columns of `without` tell when and from where a file was loaded, not what is in it. Work at
    the end of a batch may still fill `completed_column`, or, with `completed_rows`, add rows.
    """

    time: str = "consensus_timestamp"
    found_by: str = ""
    without: frozenset[str] = frozenset()
    completed_column: str = ""
    completed_rows: bool = False
