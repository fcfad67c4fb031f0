"""How many rows a list has, by PostgreSQL's estimates: counting them would read them all."""

import json
from typing import Any

from django.db.models import Model, QuerySet

from mirror.core.db import statements
from mirror.core.db.distribution import cluster

# Indexes: those of the catalogue. A table that is partitioned by month has the rows of these.
_ROWS = """
    select coalesce(sum(greatest(reltuples, 0)), 0)::bigint from pg_class
    where relkind = 'r' and (oid = to_regclass(%(table)s)
        or oid in (select inhrelid from pg_inherits where inhparent = to_regclass(%(table)s)))"""


def table_rows(model: type[Model]) -> int:
    table = model._meta.db_table
    return cluster.shards().rows.get(table) or int(statements.value(_ROWS, {"table": table}))


def query_rows(page: QuerySet[Any]) -> int | None:
    """Return the number of rows without the limit of `page`, as planned; nothing is read."""
    (explained,) = json.loads(page.explain(format="json"))
    plan = explained["Plan"]
    return int(plan["Plans"][0]["Plan Rows"]) if plan["Node Type"] == "Limit" else None
