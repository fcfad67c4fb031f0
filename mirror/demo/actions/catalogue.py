"""All actions of people and administrators. Their order decides what a seed makes happen."""

from mirror.demo.actions import batches, files, schedules, topics
from mirror.demo.actions.accounts import allowances, crypto, hollow, staking
from mirror.demo.actions.contracts import calls, coins, deploying, hooks, stewards, tills
from mirror.demo.actions.network import nodes, registered, system
from mirror.demo.actions.tokens import airdrops, changes, issuing, relationships, supply, transfers
from mirror.demo.network import Action

_MODULES: tuple[tuple[Action, ...], ...] = (
    *(crypto.ACTIONS, files.ACTIONS, topics.ACTIONS, batches.ACTIONS, nodes.ACTIONS, registered.ACTIONS),
    *(system.ACTIONS, schedules.ACTIONS, staking.ACTIONS, hollow.ACTIONS, issuing.ACTIONS),
    *(changes.ACTIONS, supply.ACTIONS, relationships.ACTIONS, transfers.ACTIONS),
    *(allowances.ACTIONS, airdrops.ACTIONS, deploying.ACTIONS, coins.ACTIONS, calls.ACTIONS),
    *(hooks.ACTIONS, calls.DELEGATIONS, tills.ACTIONS, stewards.ACTIONS),
)
ALL = tuple(action for actions in _MODULES for action in actions)
