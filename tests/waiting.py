"""Waiting for what other threads and processes do: for a state, never for a time.

No test may depend on the machine's speed. A wait ends as soon as what it waits for is there; only what will
never be there is given up, after so long that no machine is too slow.
"""

import time
from collections.abc import Callable
from typing import Any

from mirror import config

PATIENCE_SECONDS = 300.0
#: Limits of the node that a slow machine would exceed. Tests of a limit set it themselves.
PATIENT_SETTINGS: dict[str, Any] = {
    "importer.downloader.timeout": PATIENCE_SECONDS,
    "rest.db.statementTimeout": PATIENCE_SECONDS,
    "rest.redis.connectTimeout": 60.0,
    "rest.redis.commandTimeout": 60.0,
    "web3.db.statementTimeout": PATIENCE_SECONDS,
    "web3.requestTimeout": PATIENCE_SECONDS,
}
#: The same for a node in a process of its own.
PATIENT_ENVIRONMENT = {
    config.described(name).variable: f"{seconds:.0f}s" for name, seconds in PATIENT_SETTINGS.items()
}

_LOOK_SECONDS = 0.02


def wait_until(look: Callable[..., Any], told: Callable[[], object] = lambda: "") -> Any:
    """Return what `look` finds as soon as that is true; `told` says how things are when it never is."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := look()):
        assert time.monotonic() < deadline, told()
        time.sleep(_LOOK_SECONDS)
    return found
