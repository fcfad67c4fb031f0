"""Leave more connections idle than the node may have: some after a request, others that never send one."""

import time
from contextlib import suppress

from mirror.core.processes import operating_system
from tests.attacks.attack import Outcome, Target, closing

DESCRIPTORS = 1024

_REQUEST = b"GET /api/v1/blocks?limit=1 HTTP/1.1\r\nHost: node\r\n\r\n"
_CONNECTIONS, _ADDRESSES = 2400, 6
#: How long a request of an ordinary client may take.
_BOUND_SECONDS = 10.0


def _is_answered(target: Target) -> bool:
    with suppress(OSError), target.connect("127.0.0.1") as client:
        client.settimeout(_BOUND_SECONDS)
        client.sendall(_REQUEST)
        return bool(client.recv(64))
    return False


def attack(target: Target) -> Outcome:
    operating_system.raise_descriptor_limit()
    answered = failed = 0
    with closing() as stack:
        until = time.monotonic() + target.seconds
        for number in range(_CONNECTIONS):
            # The kernel takes connections for a server that does not.
            client = stack.enter_context(target.connect(f"127.0.0.{66 + number % _ADDRESSES}"))
            if number % 2:
                with suppress(OSError):
                    client.sendall(_REQUEST)
        while time.monotonic() < until or not answered + failed:
            is_answered = _is_answered(target)
            answered += is_answered
            failed += not is_answered
            time.sleep(0.1)
    return Outcome(
        failed > 0,
        f"{_CONNECTIONS} idle connections, of {answered + failed} ordinary requests {failed} failed",
    )
