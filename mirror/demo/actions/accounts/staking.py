"""Staking: people stake to a node or to another account, and stop again."""

from typing import Any

from mirror.demo.keys.nodes import nodes
from mirror.demo.network import Network, both, weighted
from mirror.demo.world.accounts import Account

_NO_NODE = -1


def stake(network: Network) -> None:
    """Stake to a node or to another account, or stop staking."""
    (way,) = network.choose.choices((_stake_to_node, _stake_to_account, _stop_staking), (4, 2, 1))
    way(network)


def _stake_to_node(network: Network) -> None:
    """Stake to a node, sometimes without reward."""
    staker, node = network.person(), network.choose.choice(nodes()).node_id
    decline = network.choose.random() < 0.1
    body: dict[str, Any] = {"staked_node_id": node}
    if decline is not staker.decline_reward:
        body["decline_reward"] = decline
    _change(network, staker, body)
    staker.staked_node_id, staker.staked_account_id, staker.decline_reward = node, None, decline


def _stake_to_account(network: Network) -> None:
    """Stake to another account, which earns the reward."""
    staker, stakee = both(network.find_person(), network.find_person(settled=True))
    _change(network, staker, {"staked_account_id": stakee.number})
    staker.staked_node_id, staker.staked_account_id = None, stakee.number
    network.world.bound.add(stakee.number)


def _stop_staking(network: Network) -> None:
    stakers = [
        staker
        for staker in network.world.living()
        if (staker.staked_node_id is not None or staker.staked_account_id) and network.can_pay(staker.number)
    ]
    staker = network.pick(stakers)
    to_node = staker.staked_account_id is None
    _change(network, staker, {"staked_node_id": _NO_NODE} if to_node else {"staked_account_id": 0})
    staker.staked_node_id = staker.staked_account_id = None


def stake_in_vain(network: Network) -> None:
    """Stake to a node that does not exist, or to the own account."""
    staker = network.person().number
    if network.choose.random() < 0.5:
        body, result = {"staked_node_id": 99}, "INVALID_STAKING_ID"
    else:
        body, result = {"staked_account_id": staker}, "SELF_STAKING_IS_NOT_ALLOWED"
    network.submit("cryptoUpdateAccount", {"accountIDToUpdate": staker, **body}, payer=staker, result=result)


def _change(network: Network, staker: Account, body: dict[str, Any]) -> None:
    """Submit the change. The reward earned before is paid with it."""
    at = network.now
    network.submit("cryptoUpdateAccount", {"accountIDToUpdate": staker.number, **body}, payer=staker.number)
    network.world.staking.restart(staker, at)


ACTIONS = weighted((1, stake), (0, stake_in_vain))
