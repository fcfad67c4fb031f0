"""Delegations (HIP-1340): the code of a contract runs at the address of an account."""

from ledger.stream.record.compose import account
from mirror.demo.network import Action, Network, NotPossible
from mirror.demo.world.accounts import NO_DELEGATION

_MOST, _ENDING = 8, 0.3


def delegate(network: Network) -> None:
    """Let an account delegate to a counter, or no longer."""
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


ACTIONS = (Action(delegate, 0),)
