#!/usr/bin/env python
"""The entry point of every command; `manage.py up` runs a whole node."""

import gc
import io
import os
import signal
import sys
from typing import NoReturn

# The commands, Django's and ours, that need no database, or open it themselves as `up` and `status` do.
WITHOUT_DATABASE = {
    "check", "collectstatic", "compilemessages", "demo", "diffsettings", "findstatic", "help", "makemessages",
    "makemigrations", "serve", "settings", "startapp", "startproject", "status", "test", "testserver", "up",
    "verify-proof", "version",
}  # fmt: skip
# Commands about stored data: where there is no database, they make none.
OF_STORED_DATA = {
    "backup", "distribute", "drop", "errata", "password", "prove", "prune", "reconcile",
    "replay", "snapshot", "status", "verify",
}  # fmt: skip
# Commands that change what is stored, unless they only estimate: a replica refuses them.
WRITING = {
    "changepassword", "clearsessions", "createsuperuser", "distribute", "drop", "errata", "flush",
    "grant", "ingest", "loaddata", "migrate", "password", "prune", "reconcile", "restore", "upgrade",
}  # fmt: skip
# Commands that need neither a node nor its settings.
ALONE = {"verify-proof"}
# Commands that run until they are stopped, which is no failure.
UNTIL_STOPPED = {"serve", "up"}
# Commands whose output only says how far they are, so that they go on when it can't be written.
OUTLASTING_OUTPUT = UNTIL_STOPPED | {"backup", "ingest", "restore", "serve-grpc", "upgrade"}


def main() -> None:
    # A command's output is read while it runs, and its child processes must not inherit unwritten output.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    if sys.argv[1:2] and sys.argv[1] in OUTLASTING_OUTPUT:
        from mirror.core.processes import output

        output.continue_without_output()
    # An import may swallow an interrupt, or fail by it; nothing is open before `up` or `serve` begins.
    if sys.argv[1:2] and sys.argv[1] in UNTIL_STOPPED and is_interruptible():
        signal.signal(signal.SIGINT, end_at_once)
    try:
        try:
            run(sys.argv)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(0 if sys.argv[1:2] and sys.argv[1] in UNTIL_STOPPED else 130)
    except BrokenPipeError:
        # The reader has closed the pipe. Python would report that again when it closes its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)


def is_interruptible() -> bool:
    """Return whether Ctrl-C stops this process: a shell has its jobs in the background ignore it."""
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def end_at_once(*_: object) -> NoReturn:
    os.write(sys.stderr.fileno(), b"Stopped.\n")
    os._exit(0)


def run(arguments: list[str]) -> None:
    """Run a command; an error that an operator can cure ends it with one sentence."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    try:
        from django.core.management import CommandError, execute_from_command_line
    except ImportError:
        sys.exit("Django is not installed in this Python: run `make up`, or activate .venv first.")
    if arguments[1:2] and arguments[1] in ALONE:
        run_alone(arguments[1], arguments[2:])
        return
    from django.db import Error

    from mirror.core import config
    from mirror.core.config.errors import OperatorError
    from mirror.core.db.availability.failure import sentence

    if gone := config.removed_settings():
        print(gone, file=sys.stderr)
    try:
        if arguments[1:] in ([], ["help"], ["--help"], ["-h"]):
            show_overview()
            return
        if arguments[1:] in (["version"], ["--version"]):
            from django.conf import settings

            print(f"Ledger Mirror {settings.VERSION}")
            return
        check_use(arguments[1:])
        if needs_database(arguments[1:]):
            from mirror.start import database

            signal.signal(signal.SIGTERM, signal.default_int_handler)
            make = makes_database(arguments[1:])
            with database.ready(lambda sentence: print(sentence, file=sys.stderr), make=make):
                # Its models need an environment that is set up.
                from mirror.upgrade import tables

                if writes(arguments[1:]):
                    tables.check_writable()
                if arguments[1] == "migrate":
                    tables.check_commit()
                execute_from_command_line(plain(arguments))
        else:
            if arguments[1] == "status":
                signal.signal(signal.SIGTERM, signal.default_int_handler)
            execute_from_command_line(plain(arguments))
    except OperatorError as error:
        end(error, error.exit_code)
    except CommandError as error:
        if "--traceback" in arguments:
            raise
        end(error, error.returncode)
    except (Error, OSError) as error:
        message = sentence(error)
        if message is None or "--traceback" in arguments:
            raise
        end(message, 1)


def run_alone(name: str, arguments: list[str]) -> None:
    """Run a command without starting Django, which takes longer than the command."""
    from django.core.management import CommandError, load_command_class

    from mirror.management.command import NodeCommand

    command = load_command_class("mirror", name)
    assert isinstance(command, NodeCommand)
    try:
        command.check_arguments(arguments)
        options = vars(command.create_parser("manage.py", name).parse_args(arguments))
        command.handle(**options)
    except CommandError as error:
        end(error, error.returncode)


def show_overview() -> None:
    import django

    django.setup()
    from mirror.management import overview

    print(overview.text())


def check_use(arguments: list[str]) -> None:
    """Raise CommandError for wrong use, before any database is started."""
    if arguments[0].startswith("-") or arguments[0] in {"help", "version"}:
        return
    import django

    # Modules are many objects and no garbage: to look for some takes a tenth of a short command's time.
    gc.disable()
    django.setup()
    from mirror.management import overview

    overview.check(arguments[0], arguments[1:])
    gc.freeze()
    gc.enable()


def writes(arguments: list[str]) -> bool:
    """Return whether a command changes what is stored."""
    is_load = of_snapshot(arguments) == "load"
    return (is_load or arguments[0] in WRITING) and "--estimate" not in arguments


def makes_database(arguments: list[str]) -> bool:
    """Return whether a command makes a database where there is none."""
    return of_snapshot(arguments) == "load" or arguments[0] not in OF_STORED_DATA


def of_snapshot(arguments: list[str]) -> str:
    """Return what is to be done with a snapshot, nothing for other commands."""
    if arguments[0] != "snapshot":
        return ""
    return next((each for each in arguments[1:] if each in {"save", "load", "check"}), "")


def plain(arguments: list[str]) -> list[str]:
    """Return arguments with which Django raises the errors it would print as `CommandError: ...`."""
    if len(arguments) < 2 or arguments[1].startswith("-") or arguments[1] in {"help", "version"}:
        return arguments
    return [*arguments[:2], "--traceback", *arguments[2:]]


def end(message: object, code: int) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(code)


def needs_database(arguments: list[str]) -> bool:
    """Return whether the database has to be ready before the command begins."""
    if not arguments or arguments[0] in WITHOUT_DATABASE or {"-h", "--help"} & set(arguments):
        return False
    # What there is to load is not in the database.
    if arguments[0] == "ingest" and "--estimate" in arguments:
        return False
    if arguments[0] == "backup" and "--check" in arguments:
        return False
    if of_snapshot(arguments) == "check":
        return False
    from django.core.management import get_commands

    return arguments[0] in get_commands()


if __name__ == "__main__":
    main()
