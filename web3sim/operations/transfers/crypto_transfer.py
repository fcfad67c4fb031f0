"""CryptoTransfer: hbar, units and serials between accounts, with the custom fees of the tokens."""

from mirror.core.values.entity_id import num_of_long_zero
from web3sim.operations.prices import CREATE_ACCOUNT, TRANSFER_FUNGIBLE, TRANSFER_HBAR, TRANSFER_NFT
from web3sim.operations.transfers.body import Outcome, Transfers, is_placeholder
from web3sim.operations.transfers.checks import (
    check_hbar_allowances,
    check_lists,
    check_participants,
    check_sizes,
)
from web3sim.operations.transfers.custom_fees import assess
from web3sim.operations.transfers.moves import Moves, associate_receivers, with_new_accounts
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import CustomFees

_WITH_FEES = 2


def crypto_transfer(ledger: Overlay, spender: int | None, transfers: Transfers) -> Outcome:
    """Move everything, or nothing. Allowances are those of the spender.

    Checks, in this order: the lists themselves, tokens and accounts, sizes, hbar allowances, new accounts,
    custom fees; then for the request and each level of fees: associations, hbar, units, serials.
    """
    check_lists(transfers)
    check_participants(ledger, transfers)
    check_sizes(transfers)
    check_hbar_allowances(ledger, spender, transfers)
    transfers, created = with_new_accounts(ledger, transfers)
    assessment = assess(ledger, transfers, created)
    outcome = Outcome()
    moves = Moves(ledger, spender, outcome, assessment.fees)
    for level in assessment.levels:
        associate_receivers(ledger, level, outcome)
        moves.move_hbar(level.hbar)
        moves.move_fungible(level.tokens)
        moves.move_nfts(level.tokens)
    return outcome


def transfer_without_fees(ledger: Overlay, transfers: Transfers, outcome: Outcome) -> None:
    """Move tokens whose fees are paid already, between accounts that agree."""
    transfers, _ = with_new_accounts(ledger, transfers)
    associate_receivers(ledger, transfers, outcome)
    moves = Moves(ledger, None, outcome)
    moves.move_fungible(transfers.tokens)
    moves.move_nfts(transfers.tokens)


def price(ledger: Overlay, transfers: Transfers) -> int:
    """Return the canonical price in tinycents, without that of associations."""
    has_fees = any(
        not is_placeholder(each.token_id) and ledger.custom_fees(each.token_id) != CustomFees()
        for each in transfers.tokens
    )
    fungible = sum(len(each.adjustments) for each in transfers.tokens)
    nfts = sum(len(each.nfts) for each in transfers.tokens)
    token_price = fungible * TRANSFER_FUNGIBLE + nfts * TRANSFER_NFT
    aliases = {number for number, address in transfers.missing.items() if num_of_long_zero(address) is None}
    created = len(aliases.intersection(transfers.credited()))
    return (
        len(transfers.hbar) * TRANSFER_HBAR
        + token_price * (_WITH_FEES if has_fees else 1)
        + created * CREATE_ACCOUNT
    )
