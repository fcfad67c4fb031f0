#!/usr/bin/env python
"""Entry point of every command; `manage.py up` runs a whole node with nothing else installed."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("Django is not installed in this Python: run `make up`, or activate .venv first.")
    from mirror.errors import OperatorError

    try:
        execute_from_command_line(sys.argv)
    except OperatorError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
