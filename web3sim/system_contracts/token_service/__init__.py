"""The token service, 0x167. One module for each subject; each lists its functions."""

from web3sim.system_contracts.functions import by_selector
from web3sim.system_contracts.token_service import (
    airdrops,
    approvals,
    creation,
    pause,
    relationships,
    supply,
    transfers,
    updates,
    views,
)
from web3sim.system_contracts.token_service.erc import transfers as erc_transfers
from web3sim.system_contracts.token_service.erc import views as erc

#: Its own functions, which name a token.
FUNCTIONS = by_selector(
    (
        *airdrops.FUNCTIONS,
        *approvals.FUNCTIONS,
        *creation.FUNCTIONS,
        *pause.FUNCTIONS,
        *relationships.FUNCTIONS,
        *supply.FUNCTIONS,
        *transfers.FUNCTIONS,
        *updates.FUNCTIONS,
        *views.FUNCTIONS,
    )
)
#: Those of a token, called at its own address.
PROXY_FUNCTIONS = by_selector(
    (
        *airdrops.PROXY_FUNCTIONS,
        *approvals.PROXY_FUNCTIONS,
        *erc.PROXY_FUNCTIONS,
        *erc_transfers.PROXY_FUNCTIONS,
        *relationships.PROXY_FUNCTIONS,
        *views.PROXY_FUNCTIONS,
    )
)
