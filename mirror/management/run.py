"""Running a command of `manage.py`, ours or one of Django."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import django
from django.conf import settings
from django.core.management import execute_from_command_line
from django.db import Error

from mirror.core.config.setting import OperatorError

#: Commands of Django that work on the database.
OF_DJANGO = {
    "changepassword", "clearsessions", "createsuperuser", "dbshell", "dumpdata", "flush", "inspectdb",
    "loaddata", "migrate", "shell", "showmigrations", "sqlmigrate",
}  # fmt: skip


def run(arguments: list[str]) -> None:
    """Run a command; an error that an operator can cure ends it with its sentence."""
    try:
        try:
            # Django would print its own.
            if arguments[1:] in (["version"], ["--version"]):
                print(f"Ledger Mirror {settings.VERSION}")
                return
            with _database_for(arguments[1:]):
                execute_from_command_line(arguments)
        finally:
            sys.stdout.flush()
    except OperatorError as error:
        _end(error, error.exit_code)
    except BrokenPipeError:
        # The reader has closed the pipe. Python would report that again when it closes its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except (Error, OSError) as error:
        # Its modules need settings that can be used.
        from mirror.core.db.availability.failure import sentence

        message = sentence(error)
        if message is None or "--traceback" in arguments:
            raise
        _end(message, 1)
    except KeyboardInterrupt:
        _end("Stopped.", 130)


@contextmanager
def _database_for(arguments: list[str]) -> Iterator[None]:
    """Have the node's database ready for a command of Django; ours open it themselves."""
    name = arguments[0] if arguments else ""
    if name not in OF_DJANGO or {"-h", "--help"} & set(arguments):
        yield
        return
    django.setup()
    from mirror.start import database
    from mirror.upgrade import tables

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with database.ready(lambda sentence: print(sentence, file=sys.stderr)):
        if name == "migrate":
            tables.check_commit()
        yield


def _end(message: object, code: int) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(code)
