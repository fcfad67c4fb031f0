"""How the network begins: its treasury with all hbars, the accounts of its services, and its first people."""

from mirror.demo.actions.accounts import people
from mirror.demo.actions.network import files, nodes, periods, upgrades
from mirror.demo.actions.network.periods import NODE_REWARDS
from mirror.demo.keys.wallet import Ed25519Wallet
from mirror.demo.network import Network
from mirror.demo.streams.record_files import FEE_COLLECTION, FEE_COLLECTOR, STAKING_REWARDS, TREASURY
from mirror.demo.world.accounts import FREEZE_ADMIN, HBAR, SYSTEM_ADMIN, Account

SUPPLY = 50_000_000_000 * HBAR
_SYSTEM_ACCOUNTS = (
    *(3, 4, 5, 6, SYSTEM_ADMIN, FREEZE_ADMIN),
    *(FEE_COLLECTOR, STAKING_REWARDS, NODE_REWARDS, FEE_COLLECTION),
)
_ENDOWMENTS = {SYSTEM_ADMIN: 100_000 * HBAR, FREEZE_ADMIN: 10_000 * HBAR, STAKING_REWARDS: 250_000_000 * HBAR}
_NODES = 4
_STAKING = 3  # one in this many stakes from the beginning


def begin(network: Network, size: int = 40) -> None:
    """Submit the first transactions: the accounts, files and nodes of the network, then `size` people."""
    for number in (TREASURY, *_SYSTEM_ACCOUNTS):
        _open_system_account(network, number)
    files.begin(network)
    nodes.begin(network)
    periods.begin(network)
    upgrades.begin(network)
    for place in range(size):
        staked = place % _NODES if place % _STAKING == 0 else None
        people.open_account(network, name=people.next_name(network), ecdsa=place % 2 == 1, staked_node=staked)


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
