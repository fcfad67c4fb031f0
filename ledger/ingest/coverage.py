"""What is loaded, as ranges of files: each batch writes its part in the transaction of its rows.

Rows: loaded_range.
"""

import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from typing import Any

from django.db.backends.utils import CursorWrapper

from ledger.ingest.balances.start import Start
from ledger.ingest.hash_chain import ChainedFile, Position, begins_network
from ledger.loaded_ranges import STORED, leaves_out
from ledger.stream.record_file import RecordFile
from mirror.core import config
from mirror.core.config.settings import SETTINGS
from mirror.core.db import statements
from mirror.core.values import timestamp
from mirror.models import LoadedRange

RestsOn = LoadedRange.RestsOn

# The settings that choose which rows are stored.
_CHOOSE = ("importer.parser.include", "importer.parser.exclude", *STORED)

_START, _END = "importer.startDate", "importer.endDate"

_COLUMNS = (
    "consensus_start, consensus_end, first_block, last_block, files, transactions, signed, filters, "
    "rests_on, basis"
)
# Key: the block, of which only one range is the last.
_ENDS_AT = f"select {_COLUMNS} from loaded_range where last_block = %s and consensus_end <= %s"
_WRITE = f"""
    insert into loaded_range ({_COLUMNS}) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    on conflict (consensus_start) do update set
        consensus_end = excluded.consensus_end, last_block = excluded.last_block, files = excluded.files,
        transactions = excluded.transactions"""


@dataclass(frozen=True, slots=True)
class Range:
    """A row of loaded_range. `filters` is JSON text."""

    consensus_start: int
    consensus_end: int
    first_block: int
    last_block: int
    files: int
    transactions: int
    signed: bool | None
    filters: str | None
    rests_on: str
    basis: str = ""

    @classmethod
    def ending_at(cls, position: Position | None) -> "Range | None":
        """Return the range that ends with the last file, None if there is none."""
        if position is None:
            return None
        row = statements.row(_ENDS_AT, [position.index, position.consensus_end])
        if row is None:
            return None
        by_name = dict(zip(_COLUMNS.split(", "), row, strict=True))
        if by_name["filters"] is not None:
            by_name["filters"] = _text(json.loads(by_name["filters"]))
        return cls(**by_name)

    def with_next(self, file: RecordFile, count: int, index: int) -> "Range":
        return replace(
            self,
            consensus_end=max(self.consensus_end, file.consensus_end),
            last_block=index,
            files=self.files + 1,
            transactions=self.transactions + count,
        )

    def shifted(self, blocks: int) -> "Range":
        return replace(self, first_block=self.first_block + blocks, last_block=self.last_block + blocks)


class Coverage:
    """Puts files into ranges, by the rule of this run: its filters, and whether signatures are verified."""

    def __init__(self) -> None:
        self._filters = filters_in_force()
        self._first, self._last = _time(_START, timestamp.MIN), _time(_END, timestamp.MAX)

    def range_after(
        self,
        last: Range | None,
        chained: ChainedFile,
        count: int,
        *,
        signed: bool,
        balances: Start | None = None,
    ) -> Range:
        """Return the range that a file with `count` transactions lies in: `last`, longer, or a new one."""
        file, previous, index, follows = chained.file, chained.last, chained.index, chained.follows
        filters = self._filters if balances and not previous else self._filters_of(file)
        if last and follows and (last.signed, last.filters) == (signed, filters):
            return last.with_next(file, count, index)
        if previous and follows:
            rests_on = RestsOn.RANGE
        elif balances and not previous:
            rests_on = RestsOn.BALANCES
        elif begins_network(file):
            rests_on = RestsOn.GENESIS
        else:
            rests_on = RestsOn.NOTHING
        on_balances = balances if rests_on is RestsOn.BALANCES else None
        return Range(
            consensus_start=max(file.consensus_start, on_balances.last + 1 if on_balances else 0),
            consensus_end=file.consensus_end,
            first_block=index,
            last_block=index,
            files=1,
            transactions=count,
            signed=signed,
            filters=filters,
            rests_on=rests_on,
            basis=on_balances.file.name if on_balances else "",
        )

    def _filters_of(self, file: RecordFile) -> str:
        """Return the filters with the dates, if these leave out transactions of the file."""
        if self._first <= file.consensus_start and file.consensus_end <= self._last:
            return self._filters
        dates = {name: config.value(name) for name in (_START, _END) if config.value(name)}
        return _text(json.loads(self._filters) | dates)


def write(cursor: CursorWrapper, ranges: Iterable[Range]) -> None:
    for each in ranges:
        cursor.execute(_WRITE, astuple(each))


def filters_in_force() -> str:
    """Return the settings that leave out rows which their defaults store, as JSON text."""
    values = config.values()
    defaults = config.load({})
    return _text(
        {
            setting.name: value
            for setting in SETTINGS
            if setting.name.startswith(_CHOOSE)
            and (value := values[setting.name]) != defaults[setting.name]
            and leaves_out(setting.name, value)
        }
    )


def _time(name: str, default: int) -> int:
    text = config.value(name)
    return timestamp.parse_iso(text) if text else default


def _text(filters: Any) -> str:
    return json.dumps(filters, sort_keys=True, default=str)
