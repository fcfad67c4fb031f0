"""Work in a copy of this process: it begins at once, so that it can be killed in the middle of it."""

import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing.context import ForkProcess
from typing import Any

from django.db import connection


def begun(work: Callable[..., Any], *arguments: Any, **options: Any) -> ForkProcess:
    """The process that does it; whoever asks for it has to kill or join it."""
    # It must not share this one's connection.
    connection.close()
    sys.stdout.flush()
    process = multiprocessing.get_context("fork").Process(target=work, args=arguments, kwargs=options)
    process.start()
    return process


def kill(process: ForkProcess) -> bool:
    """Whether it was still at work."""
    working = process.exitcode is None
    process.kill()
    process.join()
    return working
