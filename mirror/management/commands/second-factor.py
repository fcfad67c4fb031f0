"""`manage.py second-factor`: replace or remove the second factor of an account of the admin."""

from typing import Any

from mirror.core.admin.access import second_factor
from mirror.management.command import NodeCommand, argument
from mirror.node.admin import access
from mirror.upgrade.tables import check_current


class Command(NodeCommand):
    database = "existing"
    writes = True
    help = (
        "Replace the second factor of an account of the admin, or remove it. The new one is printed as a key "
        "to type into an authenticator app, and as an address. The old one stops working."
    )
    when = "Use it when an authenticator app is lost, or to prepare an account before its first sign-in."
    examples = (
        ("second-factor --remove", "The account admin signs in with its password alone."),
        ("second-factor --user ada", "A new second factor of the account ada, on the screen."),
    )
    arguments = (
        argument("--user", "the account; by default admin", default=access.ADMIN),
        argument("--remove", "remove the second factor, and make no other"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        check_current()
        user = access.account(options["user"])
        if not options["remove"]:
            device = second_factor.new_device(user, confirmed=True)
            self.echo(
                f"The new second factor of {user} is the key {second_factor.key_text(device)}, "
                f"by address {device.config_url}"
            )
        elif second_factor.remove(user):
            self.echo(f"{user} has no second factor any more.")
        else:
            self.echo(f"{user} has no second factor.")
