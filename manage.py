#!/usr/bin/env python
"""Entry point of every command; `manage.py up` runs a whole node with nothing else installed."""

import os
import signal
import sys

# Of Django's and ours, the commands that do not ask the database; `up` and `serve` start it themselves.
WITHOUT_DATABASE = {
    "check", "collectstatic", "compilemessages", "demo", "diffsettings", "findstatic", "help", "makemessages",
    "makemigrations", "serve", "settings", "startapp", "startproject", "test", "testserver", "up", "version",
}  # fmt: skip
# Commands about what is there: without a database there is nothing to tell, and none is made.
OF_WHAT_IS_THERE = {"replay", "status", "verify"}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("Django is not installed in this Python: run `make up`, or activate .venv first.")
    from mirror.errors import OperatorError

    try:
        if needs_database(sys.argv[1:]):
            from mirror.db.server import at_hand

            signal.signal(signal.SIGTERM, signal.default_int_handler)
            make = sys.argv[1] not in OF_WHAT_IS_THERE
            with at_hand(lambda sentence: print(sentence, file=sys.stderr), make=make):
                execute_from_command_line(sys.argv)
        else:
            execute_from_command_line(sys.argv)
    except OperatorError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)


def needs_database(arguments: list[str]) -> bool:
    if not arguments or arguments[0] in WITHOUT_DATABASE or {"-h", "--help", "--estimate"} & set(arguments):
        return False
    import django
    from django.core.management import get_commands

    django.setup()
    return arguments[0] in get_commands()


if __name__ == "__main__":
    main()
