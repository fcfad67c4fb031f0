"""Upgrades of the nodes' software. The first comes a while after the start: old and new rules both occur."""

from ledger.proofs.threshold.identity import Contributor, LedgerIdentity
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.keys.nodes import nodes
from mirror.demo.keys.wallet import secret
from mirror.demo.network import Network
from mirror.demo.world.accounts import SYSTEM_ADMIN
from mirror.demo.world.system import LedgerId

VERSION = (0, 75, 0)

_AFTER = 90 * 60 * NANOS_PER_SECOND
_BLOCK = 2 * NANOS_PER_SECOND
# Lengths that proofs of the network's history (HIP-1200) have.
_VERIFICATION_KEY_BYTES, _WEIGHT = 1_768, 1_000


def begin(network: Network) -> None:
    """Plan the first upgrade; where the nodes sign blocks, it was before the beginning."""
    if network.ledger:
        publish_ledger_id(network)
        return
    network.at(network.now + _AFTER, install)


def install(network: Network) -> None:
    """Upgrade all nodes; the next block is the first one of the new software, which names its ledger.

    A network that has gone over to blocks has done so at a later release.
    """
    if network.ledger:
        return
    network.upgrade(VERSION)
    network.at(network.now + _BLOCK, publish_ledger_id)


def publish_ledger_id(network: Network) -> None:
    """Publish the id of the ledger, with the keys of the nodes that prove blocks."""
    ledger = network.ledger or _of_no_blocks()
    published = LedgerId(network.now, ledger.ledger_id, ledger.proof_key, ledger.contributors)
    network.world.system.ledger_ids[ledger.ledger_id] = published
    contributions = [
        {"node_id": node_id, "weight": weight, "history_proof_key": key}
        for node_id, weight, key in ledger.contributors
    ]
    body = {
        "ledger_id": ledger.ledger_id,
        "history_proof_verification_key": ledger.proof_key,
        "node_contributions": contributions,
    }
    network.submit("ledger_id_publication", body, payer=SYSTEM_ADMIN, fee=0)


def _of_no_blocks() -> LedgerIdentity:
    """Return a ledger id of nodes that write record files: its keys prove nothing."""
    contributors = tuple(
        Contributor(node.node_id, _WEIGHT, secret("history", node.node_id)) for node in nodes()
    )
    parts = (secret("verification", place) for place in range(1 + _VERIFICATION_KEY_BYTES // 32))
    return LedgerIdentity(secret("ledger"), b"".join(parts)[:_VERIFICATION_KEY_BYTES], contributors)
