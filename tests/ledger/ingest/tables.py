"""Contents of the tables, for comparing two loads."""

from typing import Any

from django.apps import apps
from django.db import connection

from mirror.models import LoaderState, PassedOver

# When something was loaded is the only thing that may differ.
NOT_COMPARED = {"load_start", "load_end"}


def contents() -> dict[str, list[str]]:
    """Every ledger table's rows as sorted text; tables without rows are left out."""
    found: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        for table in _tables():
            cursor.execute(f"select to_jsonb(t) - %s::text[] from {table} t", [sorted(NOT_COMPARED)])
            rows: list[Any] = sorted(str(row[0]) for row in cursor.fetchall())
            if rows:
                found[table] = rows
    return found


def empty_tables() -> None:
    """Only tables with rows are truncated, which is several times faster than all."""
    name = connection.settings_dict["NAME"]
    if not name.startswith("test_"):
        raise RuntimeError(f"{name} is no test database: its tables are not emptied.")
    tables = [*_tables(), LoaderState._meta.db_table, PassedOver._meta.db_table]
    exists = " union all ".join(f"(select '{table}' from {table} limit 1)" for table in tables)
    with connection.cursor() as cursor:
        cursor.execute(exists)
        if filled := [name for (name,) in cursor.fetchall()]:
            cursor.execute(f"truncate {', '.join(filled)}")


def _tables() -> list[str]:
    apps_of_the_ledger = ("ledger", "contracts", "tokens", "network")
    return [m._meta.db_table for m in apps.get_models() if m._meta.app_label in apps_of_the_ledger]
