"""The nodes that sign the stream, with their keys.

Anyone can sign with their keys, which are published with the program
(node_keys.pem), so that the same seed gives the same signature files: they are fit for a demo alone.
"""

import re
from functools import cache
from pathlib import Path

from ledger.stream.signature.node_key import SigningNode

_KEYS = Path(__file__).parent / "node_keys.pem"
_KEY = re.compile(rb"-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----\n", re.DOTALL)


@cache
def nodes() -> tuple[SigningNode, ...]:
    """The nodes that sign the demo network's files: 0 to 3, with the accounts 0.0.3 to 0.0.6."""
    return tuple(SigningNode(place, key) for place, key in enumerate(_KEY.findall(_KEYS.read_bytes())))
