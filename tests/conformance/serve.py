"""Replaces itself by the web server, configured as the conformance runner asks.

From the environment: PORT (8000), DATABASE_URL (a migrated database; it is only read), CONFORMANCE_CONFIG
(JSON: names of features and their values), CONFORMANCE_NOW (seconds at which the clock stands still).
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment of the node's settings for these features."""
    changed = dict(given)
    changed.setdefault("PORT", "8000")
    changed.update(NO_CACHES)
    for feature, value in json.loads(given.get("CONFORMANCE_CONFIG") or "{}").items():
        setting = feature if feature.startswith("web3.") else f"rest.{feature}"
        changed[variable(setting)] = value if isinstance(value, str) else json.dumps(value)
    if now := given.get("CONFORMANCE_NOW"):
        changed[variable("clock.now")] = now
    return changed


def variable(setting: str) -> str:
    return f"svc.mirror.{setting}".upper().replace(".", "_")


# The runner loads other rows between equal requests.
NO_CACHES = {
    variable("rest.cache.response.enabled"): "false",
    **{
        variable(f"web3.cache.{cache}.expireAfterWrite"): "0"
        for cache in ("block", "contractState", "entity", "fee", "token")
    },
    **{variable(f"web3.cache.{cache}.expireAfterAccess"): "0" for cache in ("contract", "contractSlots")},
}


def main() -> None:
    changed = environment(os.environ)
    os.chdir(ROOT)
    arguments = [
        *("--interface", "wsgi", "--host", "127.0.0.1", "--port", changed["PORT"]),
        *("--workers", "1", "--blocking-threads", "2", "--no-ws", "mirror.wsgi:application"),
    ]
    os.execvpe(sys.executable, [sys.executable, "-m", "granian", *arguments], changed)


if __name__ == "__main__":
    main()
