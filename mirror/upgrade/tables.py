"""The tables of a node: made and brought up to date by its migrations."""

from collections.abc import Collection
from importlib.util import find_spec
from pkgutil import iter_modules

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.db import statements
from mirror.core.db.distribution import cluster, is_distributed
from mirror.core.db.partitions.catalogue import partitionable_tables, partitioned_tables
from mirror.core.db.partitions.partitioning import partition_table
from mirror.core.logs import Echo

_FOREIGN_TABLES_NAMED = 3
#: The apps whose rows come from the network.
LEDGER_APPS = ("ledger", "contracts", "tokens", "network")
#: The schema of a database into which a backup is being restored.
RESTORING = "restoring"
# The step of an upgrade that partitions tables with rows.
_PARTITIONING = "monthly_partitions"
# The advisory lock of the process that makes the tables. Any fixed number does.
_LOCK = 0x7461626C6573
_RETRY_SECONDS = 0.2
#: The last commit before the migrations became one per app, and the last migrations of its apps.
LAST_COMMIT = "3b6a0b7d"
_LAST_MIGRATIONS = {
    ("contracts", "0004_block_positions"),
    ("ledger", "0008_balance_difference"),
    ("mirror", "0015_plain_names"),
    ("network", "0002_release_0_160"),
    ("tokens", "0007_symbol_index"),
}


def make_tables(echo: Echo) -> None:
    """Apply missing migrations; partition and distribute empty tables if that is configured.

    Errors: OperatorError.
    """
    check_writable()
    check_restored()
    check_commit()
    cluster.check_setting()
    # Another process may make the tables, such as a loader that starts while `manage.py upgrade` runs.
    with statements.locked(_LOCK, pause=_RETRY_SECONDS):
        if missing():
            check_foreign_tables()
            echo("Creating or updating the tables.")
            call_command("migrate", interactive=False, verbosity=0)
        _forget_replaced()
        arrange_partitions()
        cluster.distribute_if_configured()


def check_writable() -> None:
    """Raise OperatorError if the database is a replica, which can't be loaded into."""
    if statements.value("select pg_is_in_recovery()"):
        raise OperatorError(
            "This database is a replica, which takes its changes from its primary alone. Load into its "
            "primary, and change that: DATABASE_URL has to name it. `manage.py serve` and `manage.py status` "
            "work here, too."
        )


def arrange_partitions() -> None:
    """Partition empty tables by month if db.partitions is on; `manage.py upgrade` does those with rows."""
    if not config.value("db.partitions"):
        statements.execute("delete from backfill where name = %s and finished is null", [_PARTITIONING])
        return
    partitioned = partitioned_tables()
    whole = [table for table in partitionable_tables() if table not in partitioned]
    if not any(statements.value(f"select exists (select from {table})") for table in whole):
        for table in whole:
            partition_table(table)
        return
    if is_distributed():
        raise OperatorError(
            "Tables with rows that are distributed can't be partitioned by month: leave out "
            "SVC_MIRROR_DB_PARTITIONS, or load into a new database."
        )
    statements.execute(
        "insert into backfill (name, rows, seconds) values (%s, 0, 0) "
        "on conflict (name) do update set finished = null",
        [_PARTITIONING],
    )


def check_current() -> None:
    """Raise OperatorError if tables of this release, or rows of a backup, are missing.

    Likewise if its tables are distributed and the setting says otherwise, or the other way round.
    """
    check_migrated()
    cluster.check_distributed()


def check_migrated() -> None:
    """Raise OperatorError if tables of this release, or rows of a backup, are missing."""
    check_restored()
    check_commit()
    if not (migrations := missing()):
        return
    applied = {app for app, _ in MigrationLoader(connection).applied_migrations}
    if "ledger" not in applied:
        raise OperatorError(
            "The database has no tables yet: `manage.py up` and `manage.py ingest` make them."
        )
    raise OperatorError(
        f"The tables are those of an older release (without the migration {migrations[-1]}): "
        "`manage.py upgrade` brings them up to date, and so do `manage.py up` and `manage.py ingest`."
    )


def check_commit() -> None:
    """Raise OperatorError for tables of a commit from before the migrations became one per app."""
    applied = MigrationRecorder(connection).applied_migrations().keys()
    if is_earlier(applied) or (
        ("mirror", "0001_initial") in applied
        and not statements.value("select to_regclass('stored_network') is not null")
    ):
        raise OperatorError(
            f"The tables are those of a commit before {LAST_COMMIT}: upgrade them by `manage.py upgrade` of "
            "that commit first. This release then takes them over."
        )


def is_earlier(applied: Collection[tuple[str, str]]) -> bool:
    """Return whether the migrations are those of a commit before the last one with several per app."""
    return ("mirror", "0002_stored_network") in applied and not _LAST_MIGRATIONS.issubset(applied)


def without_replaced(applied: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the migrations without those of the last commit that one per app replaces."""
    return on_disk().intersection(applied) if _LAST_MIGRATIONS.issubset(applied) else set(applied)


def _forget_replaced() -> None:
    """Forget the migrations of the last commit that one per app replaces: a backup lists what is applied."""
    recorder = MigrationRecorder(connection)
    applied = recorder.applied_migrations().keys()
    for app, name in applied - without_replaced(applied):
        recorder.record_unapplied(app, name)


def check_restored() -> None:
    if is_restoring():
        raise OperatorError(
            "A backup or a snapshot is being loaded into this database, or that was interrupted: wait, or "
            "load it into an empty database, or a new data folder (SVC_MIRROR_DATA)."
        )


def is_restoring() -> bool:
    return bool(statements.value("select to_regnamespace(%s) is not null", [RESTORING]))


def missing() -> list[str]:
    """Return the migrations that are not applied, by app and name."""
    if on_disk() <= MigrationRecorder(connection).applied_migrations().keys():
        return []
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label} {migration.name}" for migration, _ in plan]


def on_disk() -> set[tuple[str, str]]:
    """Return app and name of every migration, without importing it: a current database needs none."""
    names = set()
    for app in apps.get_app_configs():
        module, _ = MigrationLoader.migrations_module(app.label)
        package = find_spec(module) if module else None
        for found in iter_modules(package.submodule_search_locations if package else []):
            # Django ignores modules with such names.
            if not found.ispkg and found.name[0] not in "_~":
                names.add((app.label, found.name))
    return names


def check_foreign_tables() -> None:
    """Raise OperatorError if another program has made tables with the names that ours will have."""
    applied = {app for app, _ in MigrationLoader(connection).applied_migrations}
    ours = {model._meta.db_table for model in apps.get_models() if model._meta.app_label not in applied}
    if foreign := sorted(ours & set(connection.introspection.table_names())):
        names = ", ".join(foreign[:_FOREIGN_TABLES_NAMED])
        more = ", ..." if len(foreign) > _FOREIGN_TABLES_NAMED else ""
        raise OperatorError(
            f"The database has tables that another program made ({names}{more}): name an empty database by "
            "DATABASE_URL. If they are those of a mirror node, `manage.py migrate --fake-initial` takes them "
            "over."
        )
