"""Waiting for other threads and processes: for a state, never for a time.

No test may depend on the machine's speed. A wait ends as soon as the state is reached. It gives up only after
a time in which even a slow machine would have reached it.
"""

import time
from collections.abc import Callable
from typing import Any

from mirror.core import config

PATIENCE_SECONDS = 300.0
#: Settings of limits that a slow machine would exceed. Tests of a limit set it themselves.
PATIENT_SETTINGS: dict[str, Any] = {
    "db.silentAfter": PATIENCE_SECONDS,
    "importer.downloader.timeout": PATIENCE_SECONDS,
    "rest.db.idleInTransactionTimeout": PATIENCE_SECONDS,
    "rest.db.lockTimeout": PATIENCE_SECONDS,
    "rest.db.statementTimeout": PATIENCE_SECONDS,
    "rest.query.timeBudget": PATIENCE_SECONDS,
    "rest.redis.connectTimeout": 60.0,
    "rest.redis.commandTimeout": 60.0,
    "web3.db.statementTimeout": PATIENCE_SECONDS,
    "web3.requestTimeout": PATIENCE_SECONDS,
}
#: The same as environment variables, for a node in a process of its own.
PATIENT_ENVIRONMENT = {
    config.lookup(name).variable: f"{seconds:.0f}s" for name, seconds in PATIENT_SETTINGS.items()
}

_LOOK_SECONDS = 0.02


def wait_until(look: Callable[..., Any], describe: Callable[[], object] = lambda: "") -> Any:
    """Return the value of `look` as soon as it is true; `describe` is the message if it never is."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (value := look()):
        assert time.monotonic() < deadline, describe()
        time.sleep(_LOOK_SECONDS)
    return value
