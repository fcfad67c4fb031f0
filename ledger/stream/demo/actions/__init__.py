"""What the network's people do: one module a subject, each with its list `ACTIONS`."""

from ledger.stream.demo.actions import (
    airdrops,
    allowances,
    coins,
    contract_calls,
    contracts,
    crypto,
    files,
    hollow,
    hooks,
    nfts,
    relationships,
    schedules,
    staking,
    supply,
    tokens,
    topics,
    transfers,
)
from ledger.stream.demo.network import Action

ALL: tuple[Action, ...] = (
    *crypto.ACTIONS,
    *files.ACTIONS,
    *topics.ACTIONS,
    *schedules.ACTIONS,
    *staking.ACTIONS,
    *hollow.ACTIONS,
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
