"""How PostgreSQL runs the statements of this connection: the plans of those it has prepared."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db import connection

# A table of fewer rows is read from end to end because that is cheapest.
_LARGE = 1000


class Statement(NamedTuple):
    text: str
    plan: dict[str, Any]

    def tables_read_whole(self) -> Iterator[str]:
        return _read_whole(self.plan)


def large_tables() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("select relname from pg_class where relkind = 'r' and reltuples >= %s", [_LARGE])
        return {name for (name,) in cursor.fetchall()}


def names() -> set[str]:
    """The names of the statements prepared so far. Each EXPLAIN may push one of them out."""
    with connection.cursor() as cursor:
        cursor.execute("select name from pg_prepared_statements")
        return {name for (name,) in cursor.fetchall()}


def prepared(known: set[str]) -> Iterator[Statement]:
    """The statements prepared since `known` was last given here."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select name, statement, coalesce(cardinality(parameter_types), 0) from pg_prepared_statements"
        )
        for name, text, parameters in cursor.fetchall():
            if name in known:
                continue
            known.add(name)
            values = f"({', '.join(['null'] * parameters)})" if parameters else ""
            cursor.execute(f'explain (format json) execute "{name}" {values}')
            ((found,),) = cursor.fetchall()
            yield Statement(text, found[0]["Plan"])


def _read_whole(plan: dict[str, Any]) -> Iterator[str]:
    if plan["Node Type"] == "Seq Scan":
        yield plan["Relation Name"]
    for part in plan.get("Plans", ()):
        yield from _read_whole(part)
