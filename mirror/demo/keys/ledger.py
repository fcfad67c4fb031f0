"""The keys with which the nodes sign blocks together.

As the others, they are computed from a word that everybody can read: they are only fit for a demo.
"""

from functools import cache

from mirror.demo.keys.nodes import nodes
from mirror.demo.streams.threshold_signer import ThresholdSigner

_WEIGHT = 1_000


@cache
def signer() -> ThresholdSigner:
    """Return the signer of blocks: all nodes of the network, with the same weight."""
    return ThresholdSigner({node.node_id: _WEIGHT for node in nodes()}, "demo")
