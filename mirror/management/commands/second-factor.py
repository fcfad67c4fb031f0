"""`manage.py second-factor`: a new second factor for an account of the admin, or none."""

from typing import Any

from mirror.core.admin.access import second_factor
from mirror.management.command import NodeCommand, argument
from mirror.node.admin import access
from mirror.node.start.tables import check_current


class Command(NodeCommand):
    help = (
        "Give an account of the admin a new second factor, or remove it. A new one is printed as an address, "
        "and as a key to type into an authenticator app; the one before no longer counts."
    )
    when = "Use it when a phone with an authenticator is lost, or before people sign in for the first time."
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
