"""The plan of a backfill: the times to load, and the tables to load into."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.apps import apps
from django.db import InternalError, connection, transaction
from psycopg import errors

from mirror.core.config.errors import OperatorError
from mirror.core.db import loaded_ranges, statements
from mirror.core.db.schema import table_copies
from mirror.core.values import timestamp
from mirror.core.values.timestamp import MAX, NANOS_PER_SECOND
from mirror.models import DroppedRows, LoadedErrata, LoadedRange, SkippedTransaction
from mirror.node.start.tables import LEDGER_APPS

#: The schema of the tables that a backfill loads into, and that of those whose places they have taken.
SCHEMA, REPLACED = "history", "replaced_by_history"
GENESIS, HEAD = "genesis", "head"

# `files` is about how many there are in all.
_PLAN = f"""
    create table {SCHEMA}.backfill_plan
        (start bigint not null, finish bigint, source text not null, files bigint not null default 0)"""
_LAST = "select consensus_end, name, hash from {}.record_file order by consensus_end desc limit 1"
# Key of the blocks: record_file__index. What rests on the network's first file begins before all times.
_LOADED = f"""
    select case rests_on when 'genesis' then 0 else consensus_start end, consensus_end,
        case rests_on when 'genesis' then 0
            else least(
                consensus_start,
                (select f.consensus_start from {table_copies.PUBLIC}.record_file f
                 where f.index = first_block limit 1)) end,
        files
    from {table_copies.PUBLIC}.loaded_range order by 1"""
# Indexes: the primary keys (consensus_end).
_MISSING = f"""
    select f.name from {table_copies.PUBLIC}.record_file f
    where not exists (select from {SCHEMA}.record_file h where h.consensus_end = f.consensus_end)
    order by f.consensus_end limit 1"""
_HAS = f"select exists (select from {SCHEMA}.record_file where consensus_end = %s and hash = %s)"


@dataclass(frozen=True)
class Plan:
    """The times (ns) to load, from 0 for the first file of the network, to None for the last one loaded.

    `source` is a folder or a bucket, empty for the one of the settings.
    """

    start: int
    end: int | None
    source: str

    def __str__(self) -> str:
        start = instant_text(self.start) if self.start else GENESIS
        end = HEAD if self.end is None else instant_text(self.end)
        return f"from {start} to {end} of {self.source or 'the bucket of the settings'}"


@dataclass(frozen=True)
class LastFile:
    consensus_end: int
    name: str
    hash: str


@dataclass(frozen=True)
class Interval:
    """Times of files (ns, inclusive), between which none is left out; `files` is their number if known.

    Of the file that begins at `first` only what happened from `start` on is loaded.
    """

    start: int
    end: int
    first: int
    files: int = 1


def parse(start: str, end: str, source: str) -> Plan:
    """Return the plan that the words of a command name. Errors: OperatorError."""
    first = 0 if start == GENESIS else _time(start)
    last = None if end == HEAD else _time(end)
    if last is not None and first >= last:
        raise OperatorError(f"The start {start} is not before the end {end}.")
    return Plan(first, last, source)


def _time(text: str) -> int:
    try:
        return timestamp.parse_iso(text)
    except timestamp.InvalidTimestamp as error:
        raise OperatorError(f"{error}; or use {GENESIS} for the start and {HEAD} for the end.") from None


def instant_text(time: int) -> str:
    """Return a time (ns) as the settings of dates have it."""
    return f"{timestamp.iso_text(time).removesuffix('Z')}.{time % NANOS_PER_SECOND:09}Z"


def tables() -> list[str]:
    """Return the names of the tables that files of the network fill, and of those that describe these."""
    names = []
    for model in apps.get_models():
        if model._meta.app_label in LEDGER_APPS and not getattr(model, "beside_the_stream", False):
            names.append(model._meta.db_table)
            if getattr(getattr(model, "merge", None), "history", False):
                names.append(f"{model._meta.db_table}_history")
    own = {model._meta.db_table for model in (DroppedRows, LoadedErrata, LoadedRange, SkippedTransaction)}
    return sorted({*names, *own})


def stored() -> Plan | None:
    """Return the plan of the backfill that has begun and not ended."""
    if statements.value("select to_regclass(%s) is null", [f"{SCHEMA}.backfill_plan"]):
        return None
    return Plan(*statements.row(f"select start, finish, source from {SCHEMA}.backfill_plan"))


def make(plan: Plan) -> None:
    """Make the tables to load into, and store the plan. Errors: OperatorError."""
    with transaction.atomic():
        check_views()
        if table_copies.schema_exists(SCHEMA):
            raise OperatorError(
                f"The database has a schema {SCHEMA} that is not of a backfill: drop it, or give it another "
                "name."
            )
        table_copies.copy_tables(tables(), SCHEMA)
        statements.execute(_PLAN)
        statements.execute(
            f"insert into {SCHEMA}.backfill_plan values (%s, %s, %s)", [plan.start, plan.end, plan.source]
        )


def check_loaded_ranges() -> None:
    """Raise OperatorError if it is unknown what is loaded, since that is loaded once more."""
    if not loaded_ranges.read().is_known:
        raise OperatorError(
            "An older release has loaded files that are not listed yet, and a backfill would lose their "
            "rows: let `manage.py upgrade` list them first."
        )


def check_gaps(plan: Plan) -> None:
    """Raise OperatorError if a range that rests on balances would be loaded again without them."""
    for interval in intervals(plan)[1:]:
        if LoadedRange.objects.filter(
            consensus_start=interval.start, rests_on=LoadedRange.RestsOn.BALANCES
        ).exists():
            raise OperatorError(
                f"What is loaded from {instant_text(interval.start)} on rests on balances that it began "
                f"with. Loaded again after a gap, it would lose them: end with `{HEAD}` instead of "
                f"{instant_text(plan.end or 0)}, so that no gap is left."
            )


def check_views() -> None:
    """Raise OperatorError if views read the tables: they would go on reading those that are replaced."""
    if readers := table_copies.views(tables()):
        raise OperatorError(
            f"Views read the tables ({', '.join(readers)}), and would not see what a backfill loads: "
            "drop them, and make them again afterwards."
        )


def check_complete() -> None:
    """Raise OperatorError if a file that the node has loaded is not in the history."""
    if name := statements.value(_MISSING):
        raise OperatorError(
            f"The node has loaded {name}, which the backfill has not: its rows would be lost. Nothing is "
            "changed. Drop what the backfill has loaded by `manage.py backfill --discard`, let "
            "`manage.py upgrade` end, and begin again."
        )


def store_file_count(files: int) -> None:
    """Store the number of files to load in all, for `manage.py status`."""
    statements.execute(f"update {SCHEMA}.backfill_plan set files = %s", [files])


def file_count() -> int:
    """Return the number of files to load in all, 0 if it is unknown."""
    return int(statements.value(f"select files from {SCHEMA}.backfill_plan"))


def discard() -> None:
    """Drop all that a backfill has loaded; if killed, this leaves no plan, and tables of no use."""
    drop(REPLACED)
    if stored():
        statements.execute(f"alter schema {SCHEMA} rename to {REPLACED}")
        drop(REPLACED)


def drop(schema: str) -> None:
    """Drop a schema and its tables, one at a time: the server has a limited number of locks.

    Errors: OperatorError if views still read them.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "select quote_ident(relname) from pg_class where relnamespace = to_regnamespace(%s) "
            "and relkind in ('r', 'p') order by not relispartition, relname",
            [schema],
        )
        try:
            for (name,) in cursor.fetchall():
                cursor.execute(f"drop table if exists {schema}.{name}")
            cursor.execute(f"drop schema if exists {schema}")
        except InternalError as error:
            if not isinstance(error.__cause__, errors.DependentObjectsStillExist):
                raise
            raise OperatorError(
                f"Tables in the schema {schema} are of no use any more, and can't be dropped: "
                f"{error.__cause__.diag.message_detail}. Drop what reads them, and then these tables by "
                "`manage.py backfill --discard`."
            ) from error


def last_loaded(schema: str = table_copies.PUBLIC) -> LastFile | None:
    """Return the last file in the tables of a schema."""
    row = statements.row(_LAST.format(schema))
    return LastFile(*row) if row else None


def has_reached(last: LastFile) -> bool:
    """Return whether the backfill has loaded a file."""
    return bool(statements.value(_HAS, [last.consensus_end, last.hash]))


def loaded() -> list[Interval]:
    return [Interval(*row) for row in statements.rows(_LOADED)]


def intervals(plan: Plan) -> list[Interval]:
    """Return the intervals to load, in order: those of the plan, and those that the node has loaded."""
    present = loaded()
    head = max((interval.end for interval in present), default=0)
    requested = Interval(plan.start, min(plan.end or MAX, head), plan.start)
    return _merge([*present, *([requested] if requested.start < requested.end else [])])


def is_loaded(plan: Plan) -> bool:
    """Return whether all of the plan is loaded already, without a gap."""
    present = loaded_ranges.read().intervals
    return any(
        (each.start <= plan.start or (each.rests_on == GENESIS and not plan.start))
        and (each == present[-1] if plan.end is None else each.end >= plan.end)
        for each in present
    )


def _merge(intervals: Iterable[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for interval in sorted(intervals, key=lambda interval: interval.start):
        if merged and interval.start <= merged[-1].end:
            last = merged[-1]
            merged[-1] = Interval(last.start, max(last.end, interval.end), last.first)
        else:
            merged.append(interval)
    return merged
