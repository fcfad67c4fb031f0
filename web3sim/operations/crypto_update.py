"""CryptoUpdate: the automatic associations of an account (HIP-904)."""

from dataclasses import replace

from web3sim.engine.interface import Address
from web3sim.operations.refusals import Refused, refuse_if, required
from web3sim.operations.signers import Signers
from web3sim.state.overlay import Overlay

UNLIMITED = -1


def set_automatic_associations(ledger: Overlay, signers: Signers, address: Address, most: int) -> None:
    """Allow an account so many automatic associations.

    Checks, in this order: the account; its signature; the associations it has by now. Errors: Refused.
    """
    account = required(ledger.account_at(address), "INVALID_ACCOUNT_ID")
    refuse_if(not signers.has_signed(account), "INVALID_SIGNATURE")
    if most != UNLIMITED and most < ledger.associations(account.id).automatic:
        raise Refused("EXISTING_AUTOMATIC_ASSOCIATIONS_EXCEED_GIVEN_LIMIT")
    ledger.put_entity(replace(account, max_automatic_associations=most))
