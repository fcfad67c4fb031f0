"""Calling contracts in actions: which contract, who, and how.

Each kind of contract has its plays, of which one is chosen each time. Whether a play succeeds is for the
contract to say.
"""

from collections.abc import Callable, Sequence

from mirror.demo.evm import abi, sending
from mirror.demo.evm.deployed import Contract, Result
from mirror.demo.world.network import Network
from mirror.demo.world.world import Account

Play = Callable[[Network, Contract], bool]


def play(network: Network, kind: str, plays: Sequence[Play], weights: Sequence[int]) -> bool:
    contract = some(network, kind)
    (chosen,) = network.choose.choices(plays, weights)
    return contract is not None and chosen(network, contract)


def some(network: Network, kind: str) -> Contract | None:
    contracts = network.world.contracts
    numbers = contracts.living.get(kind)
    return contracts.deployed[network.choose.choice(numbers)] if numbers else None


def call(
    network: Network,
    sender: Account,
    contract: Contract,
    gas: int,
    signature: str,
    *arguments: abi.Argument,
    value: int = 0,
    around: Sequence[Account] = (),
) -> Result | None:
    """Call a function, with some gas to spare; None when the sender can't pay for it."""
    if not sending.can_pay(sender, gas, value):
        return None
    called = network.world.accounts[contract.number]
    data = abi.call_data(signature, *arguments)
    return sending.send(network, sender, called, data, gas=gas, value=value, around=around)


def ethereum_sender(network: Network) -> Account | None:
    sender = network.person()
    return sender if sender is not None and sending.signs_ethereum(sender) else None


def receiver_of_money(network: Network) -> Account | None:
    """Somebody who may be paid by a contract without signing for it."""
    found = network.person()
    return None if found is None or found.receiver_signature_required else found
