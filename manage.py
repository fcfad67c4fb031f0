#!/usr/bin/env python
"""The entry point of every command; `manage.py up` runs a whole node."""

import io
import os
import signal
import sys
from typing import NoReturn


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    # A command's output is read while it runs, and its child processes must not inherit unwritten output.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    # An import may swallow an interrupt, or fail by it; nothing is open before these begin. A shell has its
    # jobs in the background ignore Ctrl-C.
    if sys.argv[1:2] in (["up"], ["serve"]) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
    try:
        import django  # noqa: F401
    except ImportError:
        sys.exit("Django is not installed in this Python: run `make up`, or activate .venv first.")
    from mirror.management.run import run

    run(sys.argv)


def _end_at_once(*_: object) -> NoReturn:
    os.write(sys.stderr.fileno(), b"Stopped.\n")
    os._exit(0)


if __name__ == "__main__":
    main()
