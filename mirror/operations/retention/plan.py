"""The retention period of each table, by the settings, and the partitions that are older.

Age is counted from the last block, not from the clock: a node that was off for long loses nothing by that.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ledger import loaded_ranges
from mirror.core import config
from mirror.core.config.setting import InvalidSetting, OperatorError, Setting
from mirror.core.db.partitions import dropping
from mirror.core.db.partitions.catalogue import partitionable_tables, partitioned_tables, partitions
from mirror.core.values.human_readable import duration
from mirror.core.values.timestamp import MIN, NANOS_PER_SECOND, iso_text

#: What to do about tables that are not partitioned.
CURE = "SVC_MIRROR_DB_PARTITIONS=true and `manage.py upgrade` partition them, while the node goes on"

_PERIOD = Setting("", "1d", "", unit="duration")


def periods() -> dict[str, float]:
    """Return the retention period (s) of each table, by the settings. Errors: InvalidSetting."""
    included = config.value("importer.retention.include")
    excluded = config.value("importer.retention.exclude")
    own = dict(_own(text) for text in config.value("importer.retention.tables"))
    check_names("importer.retention.include", included)
    check_names("importer.retention.exclude", excluded)
    check_names("importer.retention.tables", list(own))
    period = config.value("importer.retention.period")
    return {
        table: own.get(table, period)
        for table in partitionable_tables()
        if table not in excluded and (not included or table in included or table in own)
    }


def _own(text: str) -> tuple[str, float]:
    table, _, period = text.partition("=")
    return table.strip(), parse_period("importer.retention.tables", period)


def parse_period(name: str, text: str) -> float:
    """Return the seconds of a period such as 90d, which is a day at least. Errors: InvalidSetting."""
    if not re.fullmatch(r"\d+(\.\d+)?[smhd]?", text.strip()) or (seconds := _PERIOD.read(text)) < 86_400:
        raise InvalidSetting(f"{name}: {text!r} is not a duration of a day or more, such as 90d.")
    return float(seconds)


def check_names(name: str, tables: Sequence[str]) -> None:
    """Raise InvalidSetting if a table is none of those that lose rows."""
    for table in tables:
        if table not in partitionable_tables():
            raise InvalidSetting(
                f"{name}: the table {table} can't lose rows by their age; these can: "
                f"{', '.join(partitionable_tables())}."
            )


@dataclass(frozen=True)
class Plan:
    """The expired partitions, and the tables that are not partitioned."""

    expired: list[dropping.ExpiredPartition]
    unpartitioned: list[str]


def plan(by_table: Mapping[str, float]) -> Plan:
    """Return the plan for tables with these retention periods (s). Errors: OperatorError."""
    partitioned, last = partitioned_tables(by_table), loaded_ranges.last_time()
    if by_table and not partitioned:
        raise OperatorError(
            f"Only tables that are partitioned by month lose rows, as that takes milliseconds: {CURE}."
        )
    if last is None:
        return Plan([], [])
    cuts = {table: int(last - by_table[table] * NANOS_PER_SECOND) for table in partitioned}
    before = dropping.expired(max(cuts.values(), default=MIN))
    old = [each for each in before if each.table in cuts and each.partition.upper <= cuts[each.table]]
    return Plan(old, [table for table in by_table if table not in partitioned])


# WORDS


def sentence() -> str:
    """Return what retention does on this node, for `manage.py status`; nothing if it is off."""
    if not config.value("importer.retention.enabled"):
        return ""
    try:
        by_table = periods()
    except InvalidSetting as error:
        return f"nothing is dropped: {error}"
    partitioned = partitioned_tables(by_table)
    if not partitioned:
        return f"nothing is dropped, as no table is partitioned by month: {CURE}"
    first = partitioned[0]
    oldest, *_ = partitions(first)
    longest = f"{first} is kept for {duration(round(by_table[first]))}"
    others = sorted(
        {duration(round(by_table[table])) for table in by_table if by_table[table] != by_table[first]}
    )
    more = f", others for {', '.join(others)}" if others else ""
    goes = oldest.upper + int(by_table[first] * NANOS_PER_SECOND)
    since = f"from {_date(oldest.lower)} on" if oldest.lower > MIN else "from the beginning on"
    return (
        f"{longest}{more}; it has rows {since}, and those before {_date(oldest.upper)} go when the last "
        f"block is of {_date(goes)}"
    )


def _date(time: int) -> str:
    return iso_text(time).partition("T")[0]
