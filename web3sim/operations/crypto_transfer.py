"""CryptoTransfer: hbar, units and serials between accounts, with the custom fees of the tokens."""

from dataclasses import replace

from web3sim.operations.custom_fees.assessment import assess
from web3sim.operations.prices import (
    CREATE_ACCOUNT,
    TRANSFER_HBAR,
    TRANSFER_NFT,
    TRANSFER_UNITS,
)
from web3sim.operations.signers import Signers
from web3sim.operations.transfers.body import Adjustment, NftTransfer, Outcome, Transfers, is_placeholder
from web3sim.operations.transfers.checks import (
    Participants,
    account_of,
    check_hbar_allowances,
    check_lists,
    check_sizes,
)
from web3sim.operations.transfers.moves import Moves
from web3sim.operations.transfers.receivers import Recipients, with_new_accounts
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import CustomFees

_WITH_FEES = 2


def crypto_transfer(ledger: Overlay, signers: Signers, transfers: Transfers) -> Outcome:
    """Move everything, or nothing. Allowances are those of the sender. Errors: Refused.

    Checks, in this order: the lists themselves, tokens and accounts, signatures, sizes, hbar allowances, new
    accounts, custom fees; then for the request and each level of fees: associations, hbar, units, serials.
    """
    check_lists(transfers)
    Participants(ledger, signers, transfers).check()
    check_sizes(transfers)
    spender = signers.sender_id
    check_hbar_allowances(ledger, spender, transfers)
    transfers, created = with_new_accounts(ledger, transfers)
    assessment = assess(ledger, transfers, created)
    outcome = Outcome()
    recipients = Recipients(ledger, spender, outcome)
    moves = Moves(ledger, spender, outcome, assessment.fees)
    for level in assessment.levels:
        recipients.associate(level)
        moves.move_hbar(level.hbar)
        moves.move_units(level.tokens)
        moves.move_serials(level.tokens)
    return outcome


def transfer_without_fees(ledger: Overlay, signers: Signers, transfers: Transfers, outcome: Outcome) -> None:
    """Move tokens whose fees are paid already, between accounts that agree. Errors: Refused."""
    transfers, _ = with_new_accounts(ledger, transfers)
    Recipients(ledger, signers.sender_id, outcome).associate(transfers)
    moves = Moves(ledger, signers.sender_id, outcome)
    moves.move_units(transfers.tokens)
    moves.move_serials(transfers.tokens)


def with_approvals(ledger: Overlay, signers: Signers, transfers: Transfers) -> Transfers:
    """Return the same, in which whoever gives something without having signed does so by an allowance."""

    def agrees(account: int) -> bool:
        entity = account_of(ledger, account)
        return entity is None or signers.has_signed(entity)

    def adjusted(adjustments: tuple[Adjustment, ...]) -> tuple[Adjustment, ...]:
        return tuple(
            each if each.amount >= 0 or agrees(each.account) else replace(each, approved=True)
            for each in adjustments
        )

    def moved(nfts: tuple[NftTransfer, ...]) -> tuple[NftTransfer, ...]:
        return tuple(nft if agrees(nft.sender) else replace(nft, approved=True) for nft in nfts)

    tokens = tuple(
        replace(each, adjustments=adjusted(each.adjustments), nfts=moved(each.nfts))
        for each in transfers.tokens
    )
    return replace(transfers, hbar=adjusted(transfers.hbar), tokens=tokens)


def price(ledger: Overlay, transfers: Transfers) -> int:
    """Return the canonical price in tinycents, without that of associations."""
    has_fees = any(
        not is_placeholder(each.token_id) and ledger.custom_fees(each.token_id) != CustomFees()
        for each in transfers.tokens
    )
    units = sum(len(each.adjustments) for each in transfers.tokens)
    nfts = sum(len(each.nfts) for each in transfers.tokens)
    of_tokens = units * TRANSFER_UNITS + nfts * TRANSFER_NFT
    created = len(set(transfers.credited()) & transfers.missing.keys())
    return (
        len(transfers.hbar) * TRANSFER_HBAR
        + of_tokens * (_WITH_FEES if has_fees else 1)
        + created * CREATE_ACCOUNT
    )
