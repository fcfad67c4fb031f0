"""Work in a copy of this process, which begins at once and can be killed in the middle."""

import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing.context import ForkProcess
from typing import Any

from django.db import connection


def begun(work: Callable[..., Any], *arguments: Any, **options: Any) -> ForkProcess:
    """Start a process that does the work; the caller has to kill or join it."""
    # The copy must not share this process's connection.
    connection.close()
    sys.stdout.flush()
    process = multiprocessing.get_context("fork").Process(target=work, args=arguments, kwargs=options)
    process.start()
    return process


def kill(process: ForkProcess) -> bool:
    """Kill the process; return whether it was still at work."""
    working = process.exitcode is None
    process.kill()
    process.join()
    return working
