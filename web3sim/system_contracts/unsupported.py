"""The functions of system contracts that a simulation lacks, by selector; they are refused by name."""

from web3sim.system_contracts.signatures import selector_of


def _named(*signatures: str) -> dict[bytes, str]:
    """Map selectors to signatures."""
    return {selector_of(signature): signature for signature in signatures}


TOKEN_SERVICE = _named()

# At the address of a token.
TOKEN_PROXY = _named()

SCHEDULE_SERVICE = _named(
    "getScheduledCreateFungibleTokenInfo(address)",
    "getScheduledCreateNonFungibleTokenInfo(address)",
    "signSchedule(address,bytes)",
)

# At the address of a schedule.
SCHEDULE_PROXY = _named()
