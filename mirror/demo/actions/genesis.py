"""The beginning of the network: treasury, accounts of services, first people; and its first upgrade."""

from ledger.stream.ledger_identity import Contributor, LedgerIdentity
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.actions import nodes, people, periods, system_files
from mirror.demo.actions.periods import NODE_REWARDS
from mirror.demo.network import Network
from mirror.demo.streams.keys import Ed25519Wallet, secret
from mirror.demo.streams.keys import nodes as signing_nodes
from mirror.demo.streams.record_files import FEE_COLLECTION, FEE_COLLECTOR, STAKING_REWARDS, TREASURY
from mirror.demo.world.accounts import FREEZE_ADMIN, HBAR, SYSTEM_ADMIN, Account
from mirror.demo.world.network import LedgerId

SUPPLY = 50_000_000_000 * HBAR
_SYSTEM_ACCOUNTS = (
    *(3, 4, 5, 6, SYSTEM_ADMIN, FREEZE_ADMIN),
    *(FEE_COLLECTOR, STAKING_REWARDS, NODE_REWARDS, FEE_COLLECTION),
)
_ENDOWMENTS = {SYSTEM_ADMIN: 100_000 * HBAR, FREEZE_ADMIN: 10_000 * HBAR, STAKING_REWARDS: 250_000_000 * HBAR}
_NODES = 4
_STAKING = 3  # one in this many stakes from the beginning
VERSION = (0, 75, 0)

_AFTER = 90 * 60 * NANOS_PER_SECOND
_BLOCK = 2 * NANOS_PER_SECOND
# Lengths that proofs of the network's history (HIP-1200) have.
_VERIFICATION_KEY_BYTES, _WEIGHT = 1_768, 1_000


def begin(network: Network, size: int = 40) -> None:
    """Submit the first transactions: the accounts, files and nodes of the network, then `size` people."""
    for number in (TREASURY, *_SYSTEM_ACCOUNTS):
        _open_system_account(network, number)
    system_files.begin(network)
    nodes.begin(network)
    periods.begin(network)
    if network.ledger:
        # Where the nodes sign blocks, the first upgrade was before the beginning.
        publish_ledger_id(network)
    else:
        network.call_at(network.now + _AFTER, install)
    for index in range(size):
        staked = index % _NODES if index % _STAKING == 0 else None
        people.open_account(network, name=people.next_name(network), ecdsa=index % 2 == 1, staked_node=staked)


def _open_system_account(network: Network, number: int) -> None:
    key = Ed25519Wallet(number).key
    network.world.accounts[number] = Account(number, network.now, balance_timestamp=network.now, key=key)
    endowment = SUPPLY if number == TREASURY else _ENDOWMENTS.get(number, 0)
    transfers = {number: endowment} if number == TREASURY else {TREASURY: -endowment, number: endowment}
    network.submit(
        "cryptoCreateAccount",
        {"key": key},
        payer=TREASURY,
        receipt={"accountID": number},
        envelope={"memo": "Synthetic genesis"},
        transfers=transfers if endowment else None,
        fee=0,
    )


# UPGRADES of the nodes' software. The first comes a while after the start: old and new rules both occur.
def install(network: Network) -> None:
    """Upgrade all nodes; the next block is the first one of the new software, which names its ledger.

    A network that has gone over to blocks has done so at a later release.
    """
    if network.ledger:
        return
    network.upgrade(VERSION)
    network.call_at(network.now + _BLOCK, publish_ledger_id)


def publish_ledger_id(network: Network) -> None:
    """Publish the id of the ledger, with the keys of the nodes that prove blocks."""
    ledger = network.ledger or _unusable_ledger_id()
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


def _unusable_ledger_id() -> LedgerIdentity:
    """Return a ledger id of nodes that write record files: its keys prove nothing."""
    contributors = tuple(
        Contributor(node.node_id, _WEIGHT, secret("history", node.node_id)) for node in signing_nodes()
    )
    parts = (secret("verification", index) for index in range(1 + _VERIFICATION_KEY_BYTES // 32))
    return LedgerIdentity(secret("ledger"), b"".join(parts)[:_VERIFICATION_KEY_BYTES], contributors)
