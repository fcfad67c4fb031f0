"""The tables and columns that a backup or a snapshot may have, whatever its manifest names."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from django.apps import apps
from django.db.migrations.loader import MigrationLoader
from django.db.models import Model

from mirror.core.config.setting import OperatorError
from mirror.operations.backup.manifest import SNAPSHOT, Kind, Manifest

# The apps of the accounts: their tables refer to each other.
_ACCOUNTS = {"admin", "auth", "contenttypes"}


def columns_here(kind: Kind) -> dict[str, set[str]]:
    """Return the columns of each table of a backup or a snapshot that this release makes."""
    return _columns(apps.get_models(include_auto_created=True), kind)


def _columns(models: Iterable[type[Model]], kind: Kind) -> dict[str, set[str]]:
    columns: dict[str, set[str]] = {}
    for model in models:
        if kind.includes(model._meta.app_label, model._meta.db_table):
            names = {field.column for field in model._meta.concrete_fields if field.column}
            columns.setdefault(model._meta.db_table, set()).update(names)
    return columns


def check(folder: Path, manifest: Manifest) -> None:
    """Check that a folder names nothing that its kind may not have.

    Allowed are the tables of the models after the migrations in the manifest, all of which exist in this
    release. Errors: OperatorError.
    """
    loader = MigrationLoader(None)
    state = loader.project_state(last_migrations(loader, manifest))
    columns = _columns(state.apps.get_models(include_auto_created=True), manifest.folder_kind)
    for name, table in manifest.tables.items():
        if name not in columns:
            raise _not_allowed(folder, manifest, f"the table {name}")
        if surplus := sorted({*table.columns} - columns[name]):
            raise _not_allowed(folder, manifest, f"the column {surplus[0]} of the table {name}")
    if manifest.folder_kind == SNAPSHOT:
        if manifest.demo:
            raise _not_allowed(folder, manifest, "a demo network")
        if manifest.settings:
            raise _not_allowed(folder, manifest, "settings")


def _not_allowed(folder: Path, manifest: Manifest, part: str) -> OperatorError:
    kind = manifest.kind
    return OperatorError(
        f"The {kind} in {folder} has {part}, which a {kind} may not have. Nothing was loaded. No node writes "
        f"such a {kind}: use one from a source that you trust."
    )


def last_migrations(loader: MigrationLoader, manifest: Manifest) -> list[tuple[str, str]]:
    """Return the last migration of each app that the backed-up database had."""
    had = set(manifest.migrations)
    graph = loader.graph
    return [
        node
        for node in sorted(had & set(graph.nodes))
        if not any(child.key in had and child.key[0] == node[0] for child in graph.node_map[node].children)
    ]


def without_accounts(manifest: Manifest) -> Manifest:
    """Return the manifest without accounts, groups, permissions and the admin's log."""
    models = apps.get_models(include_auto_created=True)
    names = {model._meta.db_table for model in models if model._meta.app_label in _ACCOUNTS}
    return replace(
        manifest,
        tables={name: table for name, table in manifest.tables.items() if name not in names},
        files=[file for file in manifest.files if file.table not in names],
    )
