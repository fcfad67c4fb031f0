"""`manage.py restore`: a backup back into an empty database, of this machine or another one."""

from typing import Any

from mirror.core.db.distribution import check_single
from mirror.core.processes import signals
from mirror.management.command import NodeCommand, argument
from mirror.management.commands.backup import JOBS, described
from mirror.operations.backup.manifest import Manifest


class Command(NodeCommand):
    database = "new"
    writes = True
    outlasts_output = True
    help = (
        "Bring a backup back into an empty database. It is that of a new data folder, or of DATABASE_URL. "
        "Restore only backups that you trust."
    )
    when = "Use it on a new machine, or after the database was lost; then `manage.py up` goes on."
    examples = (
        ("restore /backups/monday", "Fills the empty database of SVC_MIRROR_DATA or DATABASE_URL."),
        ("restore --without-accounts /backups/other", "Lets in nobody whom the backup knows."),
    )

    arguments = (
        argument("folder FOLDER", "the folder of `manage.py backup`"),
        argument(
            "--without-accounts", "leave out the accounts of the admin, with their groups and what they did"
        ),
        JOBS,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        # Only this command needs it.
        from mirror.operations.backup import dump, load

        check_single("restore", "restore into a single one, and `manage.py distribute` it")
        manifest = load.restore(
            options["folder"],
            self.echo,
            signals.stop_event(),
            jobs=options["jobs"],
            with_accounts=not options["without_accounts"],
        )
        for name, text in _differing(manifest, dump.settings_in_force()):
            self.echo(f"The node of the backup had another value of {name}: {text or 'the default'}.")
        self.echo(f"Done: {described(manifest)}. `manage.py up` goes on with the stream.")


def _differing(manifest: Manifest, here: dict[str, str]) -> list[tuple[str, str]]:
    """Return the settings of the backed-up node that this one has otherwise, but for its places and ports."""
    names = sorted(manifest.settings.keys() | here.keys())
    return [
        (name, manifest.settings.get(name, ""))
        for name in names
        if manifest.settings.get(name) != here.get(name) and name.partition(".")[0] not in ("data", "web")
    ]
