"""pytest, and after it each failed test once more, alone: `python -m tests.rerun`, with pytest's arguments.

A test that passes then is printed as unstable, with both outputs. The run passes with at most two of them,
if as many tests were skipped as expected.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.summary import OUTCOME

MAX_UNSTABLE = 2
# So many failures have a common cause, which one more run does not change.
_MAX_RERUN = 20


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "outcome.json")
        first = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments], env={**os.environ, OUTCOME: str(path)}
        )
        outcome = json.loads(path.read_text()) if path.exists() else {}
    failures: dict[str, str] = outcome.get("failures", {})
    if first.returncode != 1 or not failures:
        return first.returncode
    if len(failures) > _MAX_RERUN:
        print(f"{len(failures)} tests failed: more than {_MAX_RERUN} are not run once more.")
        return 1
    unstable = [_is_unstable(name, output) for name, output in failures.items()]
    if len(unstable) > MAX_UNSTABLE:
        print(f"{len(unstable)} tests failed: a run with more than {MAX_UNSTABLE} unstable ones fails.")
        return 1
    return 0 if all(unstable) and outcome["skips_expected"] else 1


def _is_unstable(name: str, output: str) -> bool:
    """Run a failed test once more; print both outputs and return True if it passes."""
    again = subprocess.run([sys.executable, "-m", "pytest", "-n0", name], capture_output=True, text=True)
    if again.returncode:
        print(f"failed twice: {name}\n{again.stdout}{again.stderr}")
        return False
    print(f"unstable: {name}\n--- first run\n{output}\n--- second run\n{again.stdout}{again.stderr}")
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
