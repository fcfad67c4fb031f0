"""The tables, columns and other parts that a backup or a snapshot may have, whatever its manifest names."""

from pathlib import Path

from django.db.migrations.loader import MigrationLoader

from mirror.core.config.errors import OperatorError
from mirror.operations.backup.chunks import known_columns
from mirror.operations.backup.manifest import SNAPSHOT, Manifest
from mirror.operations.backup.preparation import last_migrations


def check(folder: Path, manifest: Manifest) -> None:
    """Check that a folder names nothing that its kind may not have.

    Allowed are the tables of the models after the migrations in the manifest, all of which exist in this
    release. Errors: OperatorError.
    """
    loader = MigrationLoader(None)
    state = loader.project_state(last_migrations(loader, manifest))
    columns = known_columns(state.apps.get_models(include_auto_created=True), manifest.folder_kind)
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
