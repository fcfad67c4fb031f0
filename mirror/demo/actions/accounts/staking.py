"""Staking: people stake to a node or to another account, and stop again."""

from typing import Any

from mirror.demo.keys.nodes import nodes
from mirror.demo.network import Network, both, weighted
from mirror.demo.world.accounts import Account

_NO_NODE = -1


def stake(network: Network) -> None:
    """Stake to a node, sometimes without reward, or to another account, which earns it; or stop staking."""
    (way,) = network.choose.choices(("node", "account", "none"), (4, 2, 1))
    node, account = None, None
    body: dict[str, Any] = {}
    if way == "node":
        staker, node = network.person(), network.choose.choice(nodes()).node_id
        body["staked_node_id"], decline = node, network.choose.random() < 0.1
        if decline is not staker.decline_reward:
            staker.decline_reward = body["decline_reward"] = decline
    elif way == "account":
        staker, stakee = both(network.find_person(), network.find_person(settled=True))
        account = body["staked_account_id"] = stakee.number
        network.world.bound.add(account)
    else:
        staking = [each for each in network.world.living() if _is_staking(each)]
        staker = network.pick([each for each in staking if network.can_pay(each.number)])
        to_node = staker.staked_account_id is None
        body |= {"staked_node_id": _NO_NODE} if to_node else {"staked_account_id": 0}
    at = network.now
    # The reward earned before is paid with the change.
    network.submit("cryptoUpdateAccount", {"accountIDToUpdate": staker.number, **body}, payer=staker.number)
    network.world.staking.restart(staker, at)
    staker.staked_node_id, staker.staked_account_id = node, account


def _is_staking(account: Account) -> bool:
    return account.staked_node_id is not None or bool(account.staked_account_id)


def stake_in_vain(network: Network) -> None:
    """Stake to a node that does not exist, or to the own account."""
    staker = network.person().number
    if network.choose.random() < 0.5:
        body, result = {"staked_node_id": 99}, "INVALID_STAKING_ID"
    else:
        body, result = {"staked_account_id": staker}, "SELF_STAKING_IS_NOT_ALLOWED"
    network.submit("cryptoUpdateAccount", {"accountIDToUpdate": staker, **body}, payer=staker, result=result)


ACTIONS = weighted((1, stake), (0, stake_in_vain))
