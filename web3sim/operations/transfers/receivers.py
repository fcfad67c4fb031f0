"""Receivers that come into being by a transfer, and their automatic associations (HIP-583, HIP-904)."""

from mirror.core.values.entity_id import LONG_ZERO_PREFIX
from mirror.core.values.keys import EMPTY_LIST
from web3sim.engine.interface import AccountKind
from web3sim.operations import holdings
from web3sim.operations.rejections import reject_if, required
from web3sim.operations.transfers.body import NftTransfer, Outcome, Transfers
from web3sim.operations.transfers.checks import find_party
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import Token


def with_new_accounts(ledger: Overlay, transfers: Transfers) -> tuple[Transfers, frozenset[int]]:
    """Make accounts of the addresses that get something, and return the transfers between ids; and the new
    ids.
    """
    created: dict[int, int] = {}
    for number in transfers.credited():
        address = transfers.missing.get(number)
        if address is None or number in created:
            continue
        reject_if(address.startswith(LONG_ZERO_PREFIX), "INVALID_ALIAS_KEY")
        # The account has no key yet.
        account = ledger.add_entity(
            AccountKind.ACCOUNT, address, key=EMPTY_LIST, max_automatic_associations=holdings.UNLIMITED
        )
        created[number] = account.id
    reject_if(len(created) < len(transfers.missing), "INVALID_ACCOUNT_ID")
    return (transfers.renamed(created) if created else transfers), frozenset(created.values())


def associate_receivers(ledger: Overlay, transfers: Transfers, outcome: Outcome) -> None:
    """Associate those who take part in transfers and are not associated yet.

    Checks, in this order, for each token: that it is not paused; for each account of its units, and each
    sender and receiver of its serials, that it is associated or may be, and is not frozen.
    """
    for each in transfers.tokens:
        token = holdings.usable_token(ledger, each.token_id)
        for adjustment in each.adjustments:
            _associate(ledger, token, adjustment.account, outcome)
        for nft in each.nfts:
            holdings.associated(ledger, token, nft.sender)
            required(ledger.nft(token.id, nft.serial_number), "INVALID_NFT_ID")
            _associate(ledger, token, nft.receiver, outcome)


def _associate(ledger: Overlay, token: Token, account_id: int, outcome: Outcome) -> None:
    account = required(find_party(ledger, account_id), "INVALID_ACCOUNT_ID")
    relationship = ledger.relationship(token, account_id)
    if relationship is not None:
        reject_if(holdings.is_frozen(token, relationship), "ACCOUNT_FROZEN_FOR_TOKEN")
        return
    reject_if(not account.max_automatic_associations, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
    reject_if(holdings.has_no_free_slots(ledger, account), "NO_REMAINING_AUTOMATIC_ASSOCIATIONS")
    reject_if(token.kyc_key, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")
    reject_if(token.freeze_key and token.freeze_default, "ACCOUNT_FROZEN_FOR_TOKEN")
    holdings.add_relationship(ledger, holdings.new_relationship(token, account_id, automatic=True))
    outcome.associations += 1


def check_nft_allowance(ledger: Overlay, spender: int | None, token: Token, nft: NftTransfer) -> None:
    """Refuse a spender that is approved neither for the serial nor for all of its owner."""
    row = ledger.nft(token.id, nft.serial_number)
    is_approved = (
        spender is not None
        and row is not None
        and (ledger.approved_for_all(token.id, nft.sender, spender) or row.spender == spender)
    )
    reject_if(not is_approved, "SPENDER_DOES_NOT_HAVE_ALLOWANCE")
