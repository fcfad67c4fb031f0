"""Staking: people stake to a node, or to somebody, and stop again."""

from typing import Any

from ledger.stream.record.compose import account
from mirror.demo.keys.nodes import nodes
from mirror.demo.network import Action, Network
from mirror.demo.world.accounts import Account

_NONE = -1  # a node or an account of no stake


def stake(network: Network) -> bool:
    """Somebody stakes to a node or to somebody else, or stops."""
    (how,) = network.choose.choices((_stake_to_node, _stake_to_account, _stop_staking), (4, 2, 1))
    return how(network)


def _stake_to_node(network: Network) -> bool:
    """Somebody stakes to a node; some want no reward."""
    staker = network.person()
    if staker is None:
        return False
    node = network.choose.choice(nodes()).node_id
    decline = network.choose.random() < 0.1
    body: dict[str, Any] = {"staked_node_id": node}
    if decline is not staker.decline_reward:
        body["decline_reward"] = {"value": decline}
    _change(network, staker, body)
    staker.staked_node_id, staker.staked_account_id, staker.decline_reward = node, None, decline
    return True


def _stake_to_account(network: Network) -> bool:
    """Somebody lets somebody else stake what they have, and earn the reward."""
    staker, stakee = network.person(), network.person(settled=True)
    if staker is None or stakee is None or staker is stakee:
        return False
    _change(network, staker, {"staked_account_id": account(stakee.number)})
    staker.staked_node_id, staker.staked_account_id = None, stakee.number
    network.world.bound.add(stakee.number)
    return True


def _stop_staking(network: Network) -> bool:
    """Somebody stakes no longer."""
    stakers = [
        one
        for one in network.world.living()
        if (one.staked_node_id is not None or one.staked_account_id) and network.can_pay(one.number)
    ]
    if not stakers:
        return False
    staker = network.choose.choice(stakers)
    nobody = (
        {"staked_node_id": _NONE} if staker.staked_account_id is None else {"staked_account_id": account(0)}
    )
    _change(network, staker, nobody)
    staker.staked_node_id = staker.staked_account_id = None
    return True


def stake_in_vain(network: Network) -> bool:
    """Somebody stakes to a node that there is not, or to their own account."""
    staker = network.person()
    if staker is None:
        return False
    body: dict[str, Any] = {"accountIDToUpdate": account(staker.number)}
    if network.choose.random() < 0.5:
        body["staked_node_id"], result = 99, "INVALID_STAKING_ID"
    else:
        body["staked_account_id"], result = account(staker.number), "SELF_STAKING_IS_NOT_ALLOWED"
    network.submit("cryptoUpdateAccount", body, payer=staker.number, result=result)
    return True


def _change(network: Network, staker: Account, body: dict[str, Any]) -> None:
    """Submit the change; what was earned before is paid with it."""
    at = network.now
    body["accountIDToUpdate"] = account(staker.number)
    network.submit("cryptoUpdateAccount", body, payer=staker.number)
    network.world.staking.restart(staker, at)


ACTIONS = (
    Action(stake, 1),
    Action(stake_in_vain, 0),
)
