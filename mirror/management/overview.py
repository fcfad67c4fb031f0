"""The overview that `manage.py help` prints, and the refusal of commands that there are not."""

from collections.abc import Iterable
from difflib import get_close_matches

from django.core.management import get_commands, load_command_class

from mirror.management.command import NodeCommand, UsageError

_APP = "mirror"
# Commands in the order in which one meets them; any others follow by name.
_ORDER = (
    "up", "status", "ingest", "serve", "settings", "verify", "replay", "prove", "verify-proof", "upgrade",
    "backup", "restore", "snapshot", "prune", "drop", "password",
    "second-factor", "demo",
)  # fmt: skip
# Commands of Django that an operator may need.
_DJANGO = {
    "createsuperuser": "Make a user of the admin.",
    "migrate": "Make or update the tables.",
    "dbshell": "Open psql on the node's database.",
}

# Commands of earlier releases, each with what to do instead.
_REMOVED = {
    "backfill": "load the history into a second database, and use that (`mirror/docs/history.md`)",
}


def command_names() -> list[str]:
    """Return the names of our commands, in the order of the overview."""
    names = [name for name, app in get_commands().items() if app == _APP]
    return sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))


def text() -> str:
    """Return what `manage.py help` prints: each command with the first sentence of its help."""
    return "\n".join(
        [
            "The commands of Ledger Mirror; `manage.py COMMAND --help` says more about each.",
            "",
            *_lines((name, load_command_class(_APP, name).help) for name in command_names()),
            "",
            "Commands of Django that may be useful; `manage.py help --commands` lists all of them.",
            "",
            *_lines(_DJANGO.items()),
        ]
    )


def check(name: str, arguments: list[str]) -> None:
    """Raise CommandError if there is no such command, or if one of ours does not take the arguments.

    If they ask for the help of one of ours, it is printed, and the program ends.
    """
    commands = get_commands()
    if name in _REMOVED:
        raise UsageError(f"There is no command {name!r} any more: {_REMOVED[name]}.")
    if name not in commands:
        near = get_close_matches(name, [*command_names(), *commands], n=1)
        meant = f"did you mean `manage.py {near[0]}`? " if near else ""
        raise UsageError(f"There is no command {name!r}: {meant}`manage.py help` lists all of them.")
    if commands[name] == _APP:
        command = load_command_class(_APP, name)
        if isinstance(command, NodeCommand):
            command.check_arguments(arguments)


def _lines(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return names with the first sentences of texts."""
    return [f"  {name:<16}{text.partition('. ')[0].rstrip('.')}." for name, text in pairs]
