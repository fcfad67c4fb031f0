"""What the network's people do: one module a subject, each with its list `ACTIONS`."""

from mirror.demo.actions import batches, files, nodes, schedules, system, topics
from mirror.demo.actions.accounts import allowances, crypto, hollow, staking
from mirror.demo.actions.contracts import coins, contract_calls, contracts, hooks
from mirror.demo.actions.tokens import airdrops, issuing, nfts, relationships, supply, tokens, transfers
from mirror.demo.world.network import Action

ALL: tuple[Action, ...] = (
    *crypto.ACTIONS,
    *files.ACTIONS,
    *topics.ACTIONS,
    *batches.ACTIONS,
    *nodes.ACTIONS,
    *system.ACTIONS,
    *schedules.ACTIONS,
    *staking.ACTIONS,
    *hollow.ACTIONS,
    *issuing.ACTIONS,
    *tokens.ACTIONS,
    *supply.ACTIONS,
    *relationships.ACTIONS,
    *transfers.ACTIONS,
    *nfts.ACTIONS,
    *allowances.ACTIONS,
    *airdrops.ACTIONS,
    *contracts.ACTIONS,
    *coins.ACTIONS,
    *contract_calls.ACTIONS,
    *hooks.ACTIONS,
)
