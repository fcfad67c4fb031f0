"""The automatic associations of an account (HIP-904, HIP-906)."""

from web3sim.operations.crypto_update import UNLIMITED, set_automatic_associations
from web3sim.operations.prices import UPDATE_ACCOUNT
from web3sim.system_contracts.functions import SUCCESS, Function, Invocation, costs


def _set_unlimited(invocation: Invocation) -> bytes:
    """Unlimited, or none."""
    assert invocation.target is not None
    (unlimited,) = invocation.decoded()
    most = UNLIMITED if unlimited else 0
    set_automatic_associations(invocation.ledger, invocation.signers, invocation.target, most)
    return SUCCESS


PROXY_FUNCTIONS = (
    Function(
        "setUnlimitedAutomaticAssociations(bool)", _set_unlimited, gas=costs(UPDATE_ACCOUNT), writes=True
    ),
)
