"""The account service, 0x16a (HIP-632, HIP-906). One module for each subject; each lists its functions."""

from web3sim.system_contracts.account_service import aliases, associations, authorization, hbar_allowances
from web3sim.system_contracts.functions import by_selector

#: Its own functions.
FUNCTIONS = by_selector((*aliases.FUNCTIONS, *authorization.FUNCTIONS, *hbar_allowances.FUNCTIONS))
#: Those of an account, called at its own address.
PROXY_FUNCTIONS = by_selector((*associations.PROXY_FUNCTIONS, *hbar_allowances.PROXY_FUNCTIONS))
