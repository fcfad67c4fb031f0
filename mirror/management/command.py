"""The kind of command that `manage.py` runs for us: what its `--help` says, and how it refuses wrong use."""

import re
import textwrap
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ledger.ingest import IngestError
from ledger.stream.errors import StreamFileError

_WIDTH = 100
_PATHS = ("FILE", "DIR", "FOLDER")
# Every command of Django has these; none of ours needs them.
_DJANGO_OPTIONS = {
    *("--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color"),
}


class UsageError(CommandError):
    """Arguments that do not go together, or name nothing to work on; the exit code is 2."""

    def __init__(self, message: object) -> None:
        super().__init__(message, returncode=2)


class Argument(NamedTuple):
    """An argument of a command: its name, and what argparse takes besides."""

    name: str
    details: dict[str, Any]


def argument(name: str, help: str, **details: Any) -> Argument:
    """Return `--flag`, `--option METAVAR`, or `name METAVAR` by its place; `details` are of argparse.

    Metavars of paths are FILE, DIR and FOLDER.
    """
    name, _, metavar = name.partition(" ")
    if metavar:
        details = {"metavar": metavar, "type": Path if metavar in _PATHS else None, **details}
    elif not details:
        details["action"] = "store_true"
    return Argument(name, details | {"help": help})


_BOUND = "a block number, or a time such as 2024-06-01T00:00:00Z or 1717200000.000000000"
SPAN = (
    argument("--from BLOCK|TIME", f"begin there: {_BOUND}", dest="start"),
    argument("--to BLOCK|TIME", f"end there: {_BOUND}", dest="end"),
)


def integer(low: int, high: float = inf, description: str = "") -> Callable[[str], int]:
    """Return a type of arguments: whole numbers, or `description` in words."""

    def number(text: str) -> int:
        # Python reads no longer numbers.
        if not (text.isdecimal() and len(text) < 4_000 and low <= int(text) <= high):
            raise ArgumentTypeError(f"{text!r} is not {description or f'a whole number of at least {low}'}")
        return int(text)

    return number


class NodeCommand(BaseCommand):
    """A command of ours.

    `help` says in its first sentence what the command does, `when` in which situation one runs it, and each
    example is what follows `manage.py`, and what that does.
    """

    when: str = ""
    examples: Sequence[tuple[str, str]] = ()
    arguments: Sequence[Argument] = ()
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

    def add_arguments(self, parser: ArgumentParser) -> None:
        for each in self.arguments:
            parser.add_argument(each.name, **each.details)

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command; a file that stops it, or can't be loaded, ends it with a sentence."""
        try:
            return super().execute(*args, **options)
        except (StreamFileError, IngestError) as error:
            raise CommandError(str(error)) from error

    def echo(self, sentence: str) -> None:
        self.stdout.write(sentence)

    def check_arguments(self, arguments: Sequence[str]) -> None:
        """Raise CommandError for wrong arguments; if they ask for the help, print it and end the program."""
        parser = self.create_parser("manage.py", self.name)
        try:
            parser.parse_args(arguments)
        except CommandError as error:
            raise UsageError(self._refusal(str(error).removeprefix("Error: "))) from None

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
