"""The four nodes of the simulated network.

Their private keys are part of the program, so that the same seed gives the same signatures. Anyone can sign with
them: they prove nothing outside of a demo.
"""

import re
from functools import cache
from pathlib import Path

from ledger.stream.node_key import SigningNode

_KEYS = Path(__file__).parent / "node_keys.pem"
_KEY = re.compile(rb"-----BEGIN PRIVATE KEY-----.+?-----END PRIVATE KEY-----\n", re.DOTALL)


@cache
def nodes() -> tuple[SigningNode, ...]:
    """Nodes 0 to 3, with RSA keys of 2,048 bits: real networks have 3,072, which take three times as long."""
    return tuple(SigningNode(number, key) for number, key in enumerate(_KEY.findall(_KEYS.read_bytes())))
