"""Kinds of table that Django's Meta has no option for: without a key, or partitioned.

A model names its kind as a base class, and `mirror.core.db.backend` creates the table accordingly.
"""

from typing import Any, NamedTuple

from django.core.checks import CheckMessage


class KeylessTable:
    """A table without a primary key, maybe with equal rows; the model's composite key is for Django alone."""

    @classmethod
    def check(cls, **options: Any) -> list[CheckMessage]:
        messages: list[CheckMessage] = super().check(**options)  # type: ignore[misc]
        return [message for message in messages if message.id != "models.E042"]


class PartitionedTable:
    """A table that is partitioned by `partition_by`, the text after PARTITION BY."""

    partition_by = ""


class MonthlyPartitions(PartitionedTable):
    """A table with one partition for each calendar month (UTC) of the consensus timestamp."""

    partition_by = "RANGE (consensus_timestamp)"


class PartitionableTable:
    """A table that grows with the transactions of the network: db.partitions partitions it by month.

    `mirror.core.db.partitions` partitions it after it was made: the setting db.partitions is the operator's.
    Each row belongs to one timestamp, so that a month can be dropped as a whole.
    """


class HashPartitions(PartitionedTable):
    """A table with 32 partitions by the first byte of the hash: a lookup by hash reads one of them."""

    partition_by = "LIST (mod(get_byte(hash, 0), 32))"


class Compared(NamedTuple):
    """The part of a table that `verify` compares with the rows of the files; a model has it as `compared`.

    `time` is the column of the consensus timestamp. Rows are found by it, or by `found_by`, an indexed column
    or expression. Columns of `without` tell when and from where a file was loaded, not what is in it. Work at
    the end of a batch may still fill `completed_column`, or, with `completed_rows`, add rows. `older` has the
    columns that rows of an older release lack: name, and the SQL of the value that their null stands for.
    `instead` has the columns that don't always tell what is in the file: name, and the SQL of what does.
    """

    time: str = "consensus_timestamp"
    found_by: str = ""
    without: frozenset[str] = frozenset()
    completed_column: str = ""
    completed_rows: bool = False
    older: tuple[tuple[str, str], ...] = ()
    instead: tuple[tuple[str, str], ...] = ()
