"""All actions of people and administrators. Their order decides what a seed makes happen."""

from mirror.demo.actions import batches, files, schedules, topics
from mirror.demo.actions.accounts import allowances, crypto, people
from mirror.demo.actions.contracts import calls, deploying, hooks, services
from mirror.demo.actions.network import nodes, system
from mirror.demo.actions.tokens import changes, supply, transfers
from mirror.demo.network import Action

_MODULES: tuple[tuple[Action, ...], ...] = (
    *(crypto.ACTIONS, files.ACTIONS, topics.ACTIONS, batches.ACTIONS, nodes.ACTIONS),
    *(system.ACTIONS, schedules.ACTIONS, crypto.STAKING, people.ACTIONS, supply.ISSUING),
    *(changes.ACTIONS, supply.ACTIONS, changes.RELATIONSHIPS, transfers.ACTIONS),
    *(allowances.ACTIONS, transfers.AIRDROPS, deploying.ACTIONS, calls.ACTIONS),
    *(hooks.ACTIONS, calls.DELEGATIONS, services.ACTIONS),
)
ALL = tuple(action for actions in _MODULES for action in actions)
