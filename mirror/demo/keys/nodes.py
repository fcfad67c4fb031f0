"""The nodes that sign the stream, with their keys.

The keys (node_keys.pem) are published with the program, so that the same seed gives the same signature files.
Anyone can sign with them: they are only fit for a demo.
"""

import re
from functools import cache
from pathlib import Path

from ledger.stream.signature.node_key import SigningNode

_KEYS = Path(__file__).parent / "node_keys.pem"
_KEY = re.compile(rb"-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----\n", re.DOTALL)


@cache
def nodes() -> tuple[SigningNode, ...]:
    """Return the nodes that sign the stream: 0 to 3, with the accounts 0.0.3 to 0.0.6."""
    return tuple(SigningNode(place, key) for place, key in enumerate(_KEY.findall(_KEYS.read_bytes())))
