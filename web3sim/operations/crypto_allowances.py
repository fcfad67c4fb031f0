"""CryptoApproveAllowance: how much hbar of an owner a spender may take."""

from web3sim.engine.interface import Address
from web3sim.operations.refusals import refuse_if, required
from web3sim.operations.signers import Signers
from web3sim.operations.tokens.allowances import check_allowances
from web3sim.state.overlay import Overlay


def approve_hbar(
    ledger: Overlay, signers: Signers, owner_address: Address, spender_address: Address, tinybars: int
) -> None:
    """Let a spender take an amount; 0 revokes.

    Checks, in this order: the amount; the owner, and its signature; the spender, who is not the owner; the
    owner has not granted too much. Errors: Refused.
    """
    refuse_if(tinybars < 0, "NEGATIVE_ALLOWANCE_AMOUNT")
    owner = required(ledger.account_at(owner_address), "INVALID_ALLOWANCE_OWNER_ID")
    refuse_if(not signers.has_signed(owner), "INVALID_SIGNATURE")
    spender = required(ledger.account_id_at(spender_address), "INVALID_ALLOWANCE_SPENDER_ID")
    refuse_if(spender == owner.id, "SPENDER_ACCOUNT_SAME_AS_OWNER")
    ledger.put_hbar_allowance(owner.id, spender, tinybars)
    if tinybars:
        check_allowances(ledger, owner.id)
