"""Delegations (HIP-1340): the code of a contract runs at the address of an account."""

from mirror.demo.actions.contracts import sending
from mirror.demo.actions.contracts.sending import ContractCall, find_contract, find_ethereum_sender
from mirror.demo.evm.solidity import call_data
from mirror.demo.network import Network, NotPossible, both, weighted
from mirror.demo.streams.record_files import account
from mirror.demo.world.accounts import NO_DELEGATION

_MOST, _ENDING = 8, 0.3
_GAS = 120_000


def delegate(network: Network) -> None:
    """Let an account delegate to a counter, or end its delegation."""
    delegating = [holder for holder in network.world.living() if holder.delegation]
    counters = network.world.contracts.of("Counter")
    if len(delegating) >= _MOST or (delegating and network.choose.random() < _ENDING):
        holder = network.choose.choice(delegating)
        holder.delegation, delegated = None, NO_DELEGATION
    elif counters:
        holder = network.person()
        holder.delegation = delegated = network.choose.choice(counters).address
    else:
        raise NotPossible
    body = {"accountIDToUpdate": account(holder.number), "delegation_address": delegated}
    network.submit("cryptoUpdateAccount", body, payer=holder.number)


def delegate_by_ethereum(network: Network) -> None:
    """Delegate to a counter with the Ethereum transaction that calls it.

    Record files have no state of accounts, so a child transaction has the delegation.
    """
    sender, counter = both(find_ethereum_sender(network), find_contract(network, "Counter"))
    called = network.world.accounts[counter.number]
    if not sending.can_pay(sender, _GAS):
        raise NotPossible
    data = call_data("increment()")
    sending.by_ethereum(network, ContractCall(sender, called, data, _GAS, delegated=called.address))


ACTIONS = weighted((0, delegate, delegate_by_ethereum))
