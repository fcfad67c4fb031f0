"""The nodes that sign the stream, with their keys, and the keys with which they sign blocks together.

The keys of the nodes (node_keys.pem) are published with the program, so that the same seed gives the same
signature files. Anyone can sign with them: they are only fit for a demo.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mirror.core import config
from mirror.demo.streams.signing import SigningNode

if TYPE_CHECKING:
    from mirror.demo.streams.threshold_signer import ThresholdSigner

_WEIGHT = 1_000
_KEYS = Path(__file__).parent / "node_keys.pem"
_KEY = re.compile(rb"-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----\n", re.DOTALL)


def nodes() -> tuple[SigningNode, ...]:
    """Return the nodes that sign the stream: 0 to 3, with the accounts 3 to 6 of the network's own realm."""
    return _nodes(*config.shard_and_realm())


@cache
def _nodes(shard: int, realm: int) -> tuple[SigningNode, ...]:
    keys = enumerate(_KEY.findall(_KEYS.read_bytes()))
    return tuple(SigningNode(index, key, shard, realm) for index, key in keys)


@cache
def block_signer() -> "ThresholdSigner":
    """Return the signer of blocks: all nodes, with the same weight. Its keys come from a word, for a demo."""
    # Imported here, as threshold signatures take memory that networks of record files don't need.
    from mirror.demo.streams.threshold_signer import ThresholdSigner

    return ThresholdSigner({node.node_id: _WEIGHT for node in nodes()}, "demo")
