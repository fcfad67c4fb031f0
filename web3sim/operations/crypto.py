"""CryptoApproveAllowance of hbar, and the automatic associations of CryptoUpdate (HIP-904)."""

from dataclasses import replace

from web3sim.engine.interface import Address
from web3sim.operations.holdings import UNLIMITED, check_allowances, require_signature
from web3sim.operations.rejections import reject_if, required
from web3sim.state.overlay import Overlay


def approve_hbar(
    ledger: Overlay, owner_address: Address, spender_address: Address, tinybars: int, payer: int | None
) -> None:
    """Let a spender take an amount of an owner's hbar; 0 revokes, also for a spender that is missing.

    The payer is who calls. Checks, in this order: the amount; the owner, who can sign unless it pays; the
    spender, who is not the owner; the owner has not granted too much.
    """
    reject_if(tinybars < 0, "NEGATIVE_ALLOWANCE_AMOUNT")
    owner = required(ledger.account_id_at(owner_address), "INVALID_ALLOWANCE_OWNER_ID")
    require_signature(ledger, owner, payer, "INVALID_ALLOWANCE_OWNER_ID")
    spender = ledger.account_id_at(spender_address)
    if spender is None and not tinybars:
        return
    reject_if(spender is None, "INVALID_ALLOWANCE_SPENDER_ID")
    reject_if(spender == owner, "SPENDER_ACCOUNT_SAME_AS_OWNER")
    ledger.put_hbar_allowance(owner, required(spender, "INVALID_ALLOWANCE_SPENDER_ID"), tinybars)
    if tinybars:
        check_allowances(ledger, owner)


def set_automatic_associations(ledger: Overlay, address: Address, limit: int, payer: int | None) -> None:
    """Allow an account so many automatic associations, at least those that it has by now.

    Checks, in this order: the account, which can sign unless it pays; what it has.
    """
    account = required(ledger.account_at(address), "ACCOUNT_ID_DOES_NOT_EXIST")
    require_signature(ledger, account.id, payer, "INVALID_ACCOUNT_ID")
    has_more = limit != UNLIMITED and limit < ledger.associations(account.id).automatic
    reject_if(has_more, "EXISTING_AUTOMATIC_ASSOCIATIONS_EXCEED_GIVEN_LIMIT")
    ledger.put_entity(replace(account, max_automatic_associations=limit))
