"""The loaded life of a simulated network whose people do little else than use contracts."""

from mirror.demo.actions import crypto, genesis
from mirror.demo.actions.contracts import calls, deploying, services
from mirror.demo.actions.tokens import changes, supply
from mirror.demo.network import Action, Network
from mirror.demo.streams.record_files import Block

ACTIONS = (
    *(*crypto.ACTIONS, *deploying.ACTIONS, *calls.ACTIONS),
    # What stewards and tills keep and move.
    *(Action(supply.create, 1), Action(changes.associate, 2)),
    *(services.STEWARD._replace(weight=6), Action(services.use_till, 2)),
)


def lived(seed: int, blocks: int, size: int = 30) -> tuple[Network, list[Block]]:
    """The network in the end, and its blocks of about so many transactions."""
    network = Network(seed, ACTIONS)
    genesis.begin(network)
    closed = [network.close()]
    for _ in range(blocks):
        network.act(size)
        closed.append(network.close())
    return network, closed
