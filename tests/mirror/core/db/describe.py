"""What a database consists of, read from PostgreSQL's catalogue; Django's own tables are left out.

Run it against a migrated database to renew the committed statement:
`DATABASE_URL=... python -m tests.mirror.core.db.describe > tests/mirror/core/db/schema.json`.
"""

import json
from typing import Any

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper

COLUMNS = """
    SELECT c.relname, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
        NOT a.attnotnull AS nullable, pg_get_expr(d.adbin, d.adrelid) AS default,
        CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) END AS domain_base_type
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = ANY(%s) AND NOT c.relispartition
    ORDER BY c.relname, a.attnum
"""
TABLES = """
    SELECT c.relname, c.reloptions AS storage_parameters,
        CASE WHEN c.relkind = 'p' THEN pg_get_partkeydef(c.oid) END AS partition_key
    FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace
        AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    ORDER BY c.relname
"""
INDEXES = """
    SELECT c.relname, i.relname AS name, x.indisprimary, am.amname AS method, x.indisunique AS unique,
        pg_get_expr(x.indpred, x.indrelid) AS where,
        array_agg(
            pg_get_indexdef(i.oid, k.position::int, true) || CASE k.option & 1 WHEN 1 THEN ' DESC' ELSE '' END
            ORDER BY k.position
        ) AS columns,
        array_agg(o.opcname::text ORDER BY k.position) FILTER (WHERE NOT o.opcdefault) AS operator_classes
    FROM pg_index x
    JOIN pg_class c ON c.oid = x.indrelid
    JOIN pg_class i ON i.oid = x.indexrelid
    JOIN pg_am am ON am.oid = i.relam
    CROSS JOIN LATERAL
        unnest(x.indoption::int[], x.indclass::oid[]) WITH ORDINALITY AS k (option, class, position)
    JOIN pg_opclass o ON o.oid = k.class
    WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition
    GROUP BY c.relname, i.oid, am.amname, x.indexrelid
    ORDER BY i.relname
"""
CONSTRAINTS = """
    SELECT c.relname, format('%%s: %%s %%s', c.relname, k.conname, pg_get_constraintdef(k.oid)) AS definition
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
    WHERE k.connamespace = 'public'::regnamespace
        AND k.contype IN ('c', 'f', 'u', 'x') AND NOT c.relispartition
    ORDER BY c.relname, k.conname
"""
ENUMS = """
    SELECT t.typname, array_agg(e.enumlabel::text ORDER BY e.enumsortorder)
    FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid
    WHERE t.typnamespace = 'public'::regnamespace GROUP BY t.typname ORDER BY t.typname
"""
DOMAINS = """
    SELECT typname, format_type(typbasetype, typtypmod) FROM pg_type
    WHERE typtype = 'd' AND typnamespace = 'public'::regnamespace ORDER BY typname
"""
ROUTINES = """
    SELECT format('%%s(%%s)', p.proname, arguments),
        coalesce(lower(pg_get_function_result(p.oid)), 'procedure')
    FROM pg_proc p
    CROSS JOIN LATERAL (
        SELECT string_agg(
            CASE WHEN p.provariadic <> 0 AND n = p.pronargs THEN 'variadic ' ELSE '' END
                || format_type(t, NULL), ', ' ORDER BY n
        )
        FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS a (t, n)
    ) AS a (arguments)
    WHERE p.pronamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    ORDER BY 1
"""
# Only a superuser who migrates gets pg_stat_statements.
EXTENSIONS = """
    SELECT extname FROM pg_extension
    WHERE extname NOT IN ('plpgsql', 'pg_stat_statements') ORDER BY extname
"""
SCHEMAS = """
    SELECT nspname FROM pg_namespace
    WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY nspname
"""
SEQUENCES = """
    SELECT s.relname AS name, t.relname
    FROM pg_class s
    LEFT JOIN pg_depend d ON d.objid = s.oid AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0
    LEFT JOIN pg_class t ON t.oid = d.refobjid
    WHERE s.relkind = 'S' AND s.relnamespace = 'public'::regnamespace
    ORDER BY s.relname
"""


def djangos_tables() -> set[str]:
    """The tables of Django and django-otp, and those of django-axes, which only a test's database has."""
    models = apps.get_models(include_auto_created=True)
    apart = ("django.", "django_otp.", "axes")
    own = [m for m in models if m._meta.app_config and m._meta.app_config.name.startswith(apart)]
    return {"django_migrations"} | {m._meta.db_table for m in own}


def column_text(column: dict[str, Any]) -> str:
    """A column of schema.json as one line."""
    words = [column["name"], column["type"]]
    if column.get("domain_base_type"):
        words.append(f"({column['domain_base_type']})")
    if not column["nullable"]:
        words.append("not null")
    if column["default"] is not None:
        words.append(f"default {column['default']}")
    return " ".join(words)


def index_text(index: dict[str, Any]) -> str:
    """An index of schema.json as one line."""
    text = f"{index['name']}: {'unique ' * index['unique']}{index['method']} ({', '.join(index['columns'])})"
    if index.get("operator_classes"):
        text += f" [{', '.join(index['operator_classes'])}]"
    if index.get("where"):
        text += f" where {index['where']}"
    return text


def describe(connection: BaseDatabaseWrapper) -> dict[str, Any]:
    """Everything that is ours in the database; nothing that depends on the date."""

    def rows(query: str, *parameters: Any) -> list[dict[str, Any]]:
        with connection.cursor() as cursor:
            cursor.execute(query, parameters)
            names = [column.name for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def pairs(query: str) -> dict[str, Any]:
        return dict(tuple(row.values()) for row in rows(query))

    foreign = djangos_tables()
    tables: dict[str, Any] = {}
    for row in rows(TABLES):
        if row["relname"] not in foreign:
            table: dict[str, Any] = {"columns": [], "primary_key": None, "indexes": []}
            tables[row["relname"]] = table
            for name in ("storage_parameters", "partition_key"):
                if row[name]:
                    table[name] = row[name]
    for row in rows(COLUMNS, ["r", "p"]):
        if row["relname"] in tables:
            tables[row["relname"]]["columns"].append(column_text(row))
    for row in rows(INDEXES):
        if row["relname"] in tables and row["indisprimary"]:
            tables[row["relname"]]["primary_key"] = row["columns"]
        elif row["relname"] in tables:
            tables[row["relname"]]["indexes"].append(index_text(row))
    views: dict[str, list[str]] = {}
    for row in rows(COLUMNS, ["v", "m"]):
        if not row["relname"].startswith("pg_stat_statements"):
            views.setdefault(row["relname"], []).append(column_text(row | {"nullable": True}))
    return {
        "tables": tables,
        "enums": pairs(ENUMS),
        "domains": pairs(DOMAINS),
        "extensions": [row["extname"] for row in rows(EXTENSIONS)],
        "constraints": [row["definition"] for row in rows(CONSTRAINTS) if row["relname"] not in foreign],
        "sequences": [row["name"] for row in rows(SEQUENCES) if row["relname"] not in foreign],
        "schemas": [row["nspname"] for row in rows(SCHEMAS)],
        "views": views,
        "routines": pairs(ROUTINES),
    }


if __name__ == "__main__":
    import os

    import django
    from django.db import connection

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    django.setup()
    print(json.dumps(describe(connection), indent=1))
