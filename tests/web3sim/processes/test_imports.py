"""Processes that run calls import what calls need, and no more."""

import subprocess
import sys


def test_signatures_of_ed25519_are_imported_by_the_call_that_asks_for_them():
    program = (
        "import sys\n"
        "from web3sim.processes.worker import _prepare\n"
        "_prepare({}, {})\n"
        "assert 'web3sim.operations.signatures' in sys.modules\n"
        "print('cryptography' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False"]
