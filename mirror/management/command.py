"""The kind of command that `manage.py` runs for us: its database, and what its `--help` shows."""

import signal
import sys
import textwrap
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from math import inf
from pathlib import Path
from typing import Any, Literal, NamedTuple

from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper

from ledger.ingest import IngestError
from ledger.stream.errors import StreamFileError
from mirror.core import config
from mirror.core.processes import output

_PATHS = ("FILE", "DIR", "FOLDER")


Database = Literal["none", "existing", "new"]


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

    `help` says what the command does, `when` in which situation one runs it, and each example is what follows
    `manage.py`, and what that does.
    """

    when: str = ""
    examples: Sequence[tuple[str, str]] = ()
    arguments: Sequence[Argument] = ()
    # The database that it works on: one that exists, or a new one where there is none.
    database: Database = "none"
    # Whether it changes what is stored.
    writes = False
    # Whether it goes on when its output can't be written, as that says only how far it is.
    outlasts_output = False
    # They import the whole API and its EVM, which takes longer than most of our commands.
    requires_system_checks: tuple[str, ...] = ()
    # Every command of Django has these; none of ours needs them.
    suppressed_base_arguments = {
        "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color",
        "--force-color",
    }  # fmt: skip
    _is_of_shell = False

    def create_parser(self, prog_name: str, subcommand: str, **arguments: Any) -> CommandParser:
        lines = [f"  manage.py {line}\n      {meaning}" for line, meaning in self.examples]
        arguments |= {
            "formatter_class": RawDescriptionHelpFormatter,
            "epilog": "\n".join(["examples:", *lines]),
        }
        parser = super().create_parser(prog_name, subcommand, **arguments)
        parser.description = "\n\n".join(textwrap.fill(text, 100) for text in (self.help, self.when))
        return parser

    def add_arguments(self, parser: ArgumentParser) -> None:
        for each in self.arguments:
            parser.add_argument(each.name, **each.details)

    def run_from_argv(self, argv: list[str]) -> None:
        self._is_of_shell = True
        if self.outlasts_output:
            output.continue_without_output()
            self.stdout, self.stderr = OutputWrapper(sys.stdout), OutputWrapper(sys.stderr)
        super().run_from_argv(argv)

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command with its database; an error ends it with its sentence, and without a name."""
        try:
            with self._database(options) if self._is_of_shell else nullcontext():
                return super().execute(*args, **options)
        except (CommandError, StreamFileError, IngestError) as error:
            refusal = error if isinstance(error, CommandError) else CommandError(str(error))
            if not self._is_of_shell:
                raise refusal from error
            self.stderr.write(str(refusal))
            sys.exit(refusal.returncode)

    @contextmanager
    def _database(self, options: dict[str, Any]) -> Iterator[None]:
        if gone := config.removed_settings():
            self.stderr.write(gone)
        kind = self.database_for(options)
        if kind == "none":
            yield
            return
        # Commands without a database start faster.
        from mirror.start import database
        from mirror.upgrade import tables

        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with database.ready(self.stderr.write, make=kind == "new"):
            if self.writes_for(options):
                tables.check_writable()
            yield

    def database_for(self, options: dict[str, Any]) -> Database:
        """Return the database that the command works on with these options."""
        return self.database

    def writes_for(self, options: dict[str, Any]) -> bool:
        """Return whether the command changes what is stored, with these options."""
        return self.writes and not options.get("estimate")

    def echo(self, sentence: str) -> None:
        self.stdout.write(sentence)
