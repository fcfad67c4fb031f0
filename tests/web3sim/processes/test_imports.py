"""Processes that run calls import what calls need, and no more."""

import subprocess
import sys


def test_ed25519_is_imported_when_needed():
    program = (
        "import sys\n"
        "from web3sim.processes.worker import _prepare\n"
        "_prepare({}, {})\n"
        "assert 'web3sim.operations.signatures' in sys.modules\n"
        "print('cryptography' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False"]
