"""The loaded life of a simulated network whose people do little else than use contracts."""

from ledger.stream.compose import Block
from ledger.stream.demo import people
from ledger.stream.demo.actions import coins, contract_calls, contracts, crypto
from ledger.stream.demo.network import Network

ACTIONS = (*crypto.ACTIONS, *contracts.ACTIONS, *coins.ACTIONS, *contract_calls.ACTIONS)


def lived(seed: int, blocks: int, size: int = 30) -> tuple[Network, list[Block]]:
    """The network in the end, and its blocks of about so many transactions."""
    network = Network(seed, ACTIONS)
    people.begin(network)
    closed = [network.close()]
    for _ in range(blocks):
        network.act(size)
        closed.append(network.close())
    return network, closed
