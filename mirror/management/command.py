"""The kind of command that `manage.py` runs for us: what its `--help` says, and how it refuses wrong use."""

import re
import textwrap
from argparse import RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

_WIDTH = 100
# Every command of Django has these; none of ours needs them.
_DJANGO_OPTIONS = {
    *("--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color"),
}


class NodeCommand(BaseCommand):
    """A command of ours.

    `help` says in its first sentence what the command does, `when` in which situation one runs it, and each
    example is what follows `manage.py`, and what that does.
    """

    when: str = ""
    examples: Sequence[tuple[str, str]] = ()
    # They import the whole API and its EVM, which takes longer than most of our commands.
    requires_system_checks: tuple[str, ...] = ()
    suppressed_base_arguments = _DJANGO_OPTIONS

    def create_parser(self, prog_name: str, subcommand: str, **arguments: Any) -> CommandParser:
        arguments |= {"formatter_class": _Formatter, "epilog": self._epilog}
        parser = super().create_parser(prog_name, subcommand, **arguments)
        parser.description = "\n\n".join(textwrap.fill(text, _WIDTH) for text in (self.help, self.when))
        # So that it raises CommandError where it would print how it is used, and exit.
        parser.called_from_command_line = False
        return parser

    def check_arguments(self, arguments: Sequence[str]) -> None:
        """Raise CommandError for wrong arguments; if they ask for the help, print it and end the program."""
        parser = self.create_parser("manage.py", self.name)
        try:
            parser.parse_args(arguments)
        except CommandError as error:
            raise CommandError(self._refusal(str(error).removeprefix("Error: ")), returncode=2) from None

    @property
    def name(self) -> str:
        return type(self).__module__.rpartition(".")[2]

    @property
    def _epilog(self) -> str:
        lines = [f"  manage.py {line}\n      {meaning}" for line, meaning in self.examples]
        return "\n".join(["examples:", *lines])

    # WRONG USE

    def _refusal(self, message: str) -> str:
        """Return what argparse says about wrong arguments as a sentence, and where the right ones are."""
        for pattern, sentence in _SENTENCES:
            if match := re.fullmatch(pattern, message):
                said = sentence(*match.groups())
                break
        else:
            said = self._of_this_command(message)
        return f"{said} `manage.py {self.name} --help` says more."

    def _of_this_command(self, message: str) -> str:
        if match := re.fullmatch(r"the following arguments are required: (.*)", message):
            example = f", such as `manage.py {self.examples[0][0]}`" if self.examples else ""
            return f"`manage.py {self.name}` needs {_joined(match[1], 'and')}{example}."
        if match := re.fullmatch(r"unrecognized arguments: (\S+).*", message):
            if not match[1].startswith("-"):
                return f"`manage.py {self.name}` does not take {match[1]!r}."
            near = get_close_matches(match[1].partition("=")[0], self._options, n=1)
            meant = f": did you mean {near[0]}?" if near else "."
            return f"`manage.py {self.name}` has no option {match[1]}{meant}"
        # One of our own about a value: "argument --blocks: 'x' is not a whole number".
        return f"{message.removeprefix('argument ').rstrip('.')}."

    @property
    def _options(self) -> list[str]:
        actions = self.create_parser("manage.py", self.name)._actions
        return [
            option for action in actions for option in action.option_strings if option not in _DJANGO_OPTIONS
        ]


class _Formatter(RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_WIDTH)


def _joined(names: str, word: str) -> str:
    """Return argparse's list of names, such as "--follow, --from", as words."""
    parts = [name.strip("' ") for name in names.split(",")]
    return f" {word} ".join(part for part in parts if part not in _DJANGO_OPTIONS)


_SENTENCES: Sequence[tuple[str, Callable[..., str]]] = (
    (
        r"ambiguous option: (\S+) could match (.*)",
        lambda given, names: f"{given} may mean {_joined(names, 'or')}.",
    ),
    (r"argument (\S+): expected .*", lambda name: f"{name} needs a value after it."),
    (
        r"argument (\S+): ignored explicit argument (.*)",
        lambda name, value: f"{name} takes no value, and {value} is given.",
    ),
    (
        r"argument (\S+): invalid choice: (.+) \(choose from (.*)\)",
        lambda name, value, choices: f"{name} is {_joined(choices, 'or')}, not {value}.",
    ),
    (
        r"argument (\S+): invalid int value: (.+)",
        lambda name, value: f"{name} is a whole number, not {value}.",
    ),
)
