"""`manage.py password`: a new password for an account of the admin whose password is lost."""

from typing import Any

from django.conf import settings

from mirror.management.command import NodeCommand, argument
from mirror.node.admin import access
from mirror.upgrade.tables import check_current


class Command(NodeCommand):
    database = "existing"
    writes = True
    help = (
        "Give an account of the admin a new password. That of the account admin is written into the file of "
        "the first one; others are printed. Whoever is signed in with the old one has to sign in again."
    )
    when = "Use it when a password of the admin is lost, or known to others."
    examples = (
        ("password", "A new password of the account admin, in the file admin-password of the data folder."),
        ("password --user ada", "A new password of the account ada, on the screen."),
    )
    arguments = (
        argument("--user", "the account; by default admin", default=access.ADMIN),
        argument("--print", "print the password, and write no file"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["user"]
        check_current()
        # The file is for the account that the node itself has made.
        to_file = name == access.ADMIN and not options["print"]
        password = access.new_password(settings.DATA_DIR, name, to_file=to_file)
        where = f"in {access.password_file(settings.DATA_DIR)}" if to_file else password
        self.echo(f"The new password of {name} is {where}. Sessions with the old one have ended.")
