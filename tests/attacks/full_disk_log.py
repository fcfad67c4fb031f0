"""The disk that holds the node's log is full, and no line of it can be written: the node starts nevertheless.

Then one of its processes dies, of which the supervisor has something to say.
"""

import signal
import time
from pathlib import Path

from tests.attacks.attack import Outcome, Target
from tests.node import kill

# Every write to it fails as on a full disk.
_FULL = Path("/dev/full")
STARTED = False


def attack(target: Target) -> Outcome:
    node = target.node
    if node.process:
        node.stop(signal.SIGTERM)
    node.output = _FULL
    node.begin("up", "--live")
    process, killed = node.process, 0
    assert process
    while process.poll() is None and not (node.answers() and killed):
        if not killed and node.answers() and (killed := node.web_server()):
            kill(killed)
        time.sleep(0.1)
    if process.poll() is None:
        time.sleep(target.seconds)
    if (code := process.poll()) is not None:
        return Outcome(True, f"the node ended with exit code {code}")
    node.goes_on()
    return Outcome(False, "the node answers and loads blocks")
