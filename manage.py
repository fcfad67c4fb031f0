#!/usr/bin/env python
"""Entry point of every command; `manage.py up` runs a whole node with nothing else installed."""

import os
import signal
import sys
from typing import NoReturn

# Of Django's and ours, the commands that do not ask the database; `up` and `serve` start it themselves.
WITHOUT_DATABASE = {
    "check", "collectstatic", "compilemessages", "demo", "diffsettings", "findstatic", "help", "makemessages",
    "makemigrations", "serve", "settings", "startapp", "startproject", "test", "testserver", "up", "version",
}  # fmt: skip
# Commands about what is there: without a database there is nothing to tell, and none is made.
OF_WHAT_IS_THERE = {"replay", "status", "verify"}


# Being asked to stop is how these end.
UNTIL_STOPPED = {"serve", "up"}


def main() -> None:
    try:
        try:
            run(sys.argv)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(0 if sys.argv[1:2] and sys.argv[1] in UNTIL_STOPPED else 130)
    except BrokenPipeError:
        # Whoever reads the output has read enough. Python would say so when it closes the pipe, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)


def run(arguments: list[str]) -> None:
    """Run a command; what an operator can see and cure ends it with a sentence."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    try:
        from django.core.management import CommandError, execute_from_command_line
    except ImportError:
        sys.exit("Django is not installed in this Python: run `make up`, or activate .venv first.")
    from django.db import Error

    from mirror.config.errors import OperatorError
    from mirror.db.failure import sentence

    try:
        if needs_database(arguments[1:]):
            from mirror.node.database import at_hand

            signal.signal(signal.SIGTERM, signal.default_int_handler)
            make = arguments[1] not in OF_WHAT_IS_THERE
            with at_hand(lambda sentence: print(sentence, file=sys.stderr), make=make):
                execute_from_command_line(plain(arguments))
        else:
            execute_from_command_line(plain(arguments))
    except OperatorError as error:
        end(error, error.exit_code)
    except CommandError as error:
        if "--traceback" in arguments:
            raise
        end(error, error.returncode)
    except (Error, OSError) as error:
        told = sentence(error)
        if told is None or "--traceback" in arguments:
            raise
        end(told, 1)


def plain(arguments: list[str]) -> list[str]:
    """Has Django raise what it would print as `CommandError: ...`."""
    if len(arguments) < 2 or arguments[1].startswith("-") or arguments[1] in {"help", "version"}:
        return arguments
    return [*arguments[:2], "--traceback", *arguments[2:]]


def end(message: object, code: int) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(code)


def needs_database(arguments: list[str]) -> bool:
    if not arguments or arguments[0] in WITHOUT_DATABASE or {"-h", "--help", "--estimate"} & set(arguments):
        return False
    import django
    from django.core.management import get_commands

    django.setup()
    return arguments[0] in get_commands()


if __name__ == "__main__":
    main()
