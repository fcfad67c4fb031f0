"""The web server under test, configured as the conformance runner asks; replaces this process.

An argument names another application than the node's: `control.py` is told features by requests.

The environment has PORT (8000), DATABASE_URL (a migrated database, which is only read), CONFORMANCE_CONFIG
(JSON: names of features and their values) and CONFORMANCE_NOW (seconds at which the clock stands still).

The cases of state proofs (the runner's `--enable stateproof`) need their stream files, from an S3 compatible
store, a web server or a folder. With a web server, from the folder of the cases:

    python -m http.server --directory rest/fixtures/stream-files 9000 &
    export SVC_MIRROR_REST_STATEPROOF_ENABLED=true
    export SVC_MIRROR_REST_STATEPROOF_STREAMS_CLOUDPROVIDER=HTTP
    export SVC_MIRROR_REST_STATEPROOF_STREAMS_ENDPOINTOVERRIDE=http://127.0.0.1:9000
    python run_cases.py --enable stateproof --filter stateproof --prepare-db \\
        --base-url http://127.0.0.1:8000 --dsn "$DATABASE_URL" --server-cmd .../tests/conformance/serve
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

#: Where `control.py` is told features.
CONTROL = "/control"
ROOT = Path(__file__).resolve().parents[2]


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the node's settings for the runner's features."""
    # The cases expect access lists as the original's newest release shows them.
    result = {"PORT": "8000", **variables, **NO_CACHES, variable("rest.response.accessList"): "array"}
    for feature, value in json.loads(variables.get("CONFORMANCE_CONFIG") or "{}").items():
        setting = feature if feature.startswith("web3.") else f"rest.{feature}"
        result[variable(setting)] = value if isinstance(value, str) else json.dumps(value)
    if now := variables.get("CONFORMANCE_NOW"):
        result[variable("clock.now")] = now
    return result


def variable(setting: str) -> str:
    return f"svc.mirror.{setting}".upper().replace(".", "_")


# The runner loads other rows between equal requests.
NO_CACHES = {
    variable("rest.cache.response.enabled"): "false",
    variable("rest.cache.feeSchedule.maxAge"): "0",
    **{
        variable(f"web3.cache.{cache}.expireAfterWrite"): "0"
        for cache in ("block", "contractState", "entity", "fee", "token")
    },
    **{variable(f"web3.cache.{cache}.expireAfterAccess"): "0" for cache in ("contract", "contractSlots")},
}


def main() -> None:
    variables = environment(os.environ)
    os.chdir(ROOT)
    application = next(iter(sys.argv[1:]), "mirror.wsgi:application")
    arguments = [
        *("--interface", "wsgi", "--host", "127.0.0.1", "--port", variables["PORT"]),
        *("--workers", "1", "--blocking-threads", "2", "--no-ws", application),
    ]
    os.execvpe(sys.executable, [sys.executable, "-m", "granian", *arguments], variables)


if __name__ == "__main__":
    main()
