"""Receivers that come into being by a transfer, and their automatic associations (HIP-583, HIP-904)."""

from web3sim.engine.interface import AccountKind
from web3sim.operations.holdings import is_frozen, usable_token
from web3sim.operations.refusals import Refused, refuse_if, required
from web3sim.operations.token_lookup import has_key
from web3sim.operations.tokens.associate import add_relationship, new_relationship
from web3sim.operations.transfers.body import Adjustment, NftTransfer, Outcome, Transfers
from web3sim.operations.transfers.checks import account_of, check_unit_allowance
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Entity, Token

UNLIMITED = -1
# A long-zero address can't be an alias.
_LONG_ZERO_PREFIX = bytes(12)
#: The key of an account that has none yet: an empty list.
HOLLOW_KEY = b"\x32\x00"


def with_new_accounts(ledger: Overlay, transfers: Transfers) -> tuple[Transfers, frozenset[int]]:
    """Make accounts of the addresses that get something, and return the transfers between ids; and the new
    ids. Errors: Refused.
    """
    created: dict[int, int] = {}
    for number in transfers.credited():
        address = transfers.missing.get(number)
        if address is None or number in created:
            continue
        refuse_if(address.startswith(_LONG_ZERO_PREFIX), "INVALID_ALIAS_KEY")
        account = ledger.add_entity(
            AccountKind.ACCOUNT, address, key=HOLLOW_KEY, max_automatic_associations=UNLIMITED
        )
        created[number] = account.id
    refuse_if(len(created) < len(transfers.missing), "INVALID_ACCOUNT_ID")
    return (transfers.renamed(created) if created else transfers), frozenset(created.values())


def slots_used_up(ledger: Overlay, account: Entity) -> bool:
    """Return whether an account takes no more tokens by itself."""
    most = account.max_automatic_associations
    return most != UNLIMITED and most <= ledger.associations(account.id).automatic


class Recipients:
    """Associates those who take part in transfers and are not associated yet."""

    def __init__(self, ledger: Overlay, spender: int | None, outcome: Outcome) -> None:
        self._ledger, self._spender, self._outcome = ledger, spender, outcome

    def associate(self, transfers: Transfers) -> None:
        """Errors: Refused.

        Checks, in this order, for each token: that it is not paused; for each account of its units, and each
        sender and receiver of its serials, that it is associated or may be, and is not frozen.
        """
        for each in transfers.tokens:
            token = usable_token(self._ledger, each.token_id)
            for adjustment in each.adjustments:
                self._associate_party(token, adjustment)
            for nft in each.nfts:
                self._associate_receiver(token, nft)

    def _associate_party(self, token: Token, adjustment: Adjustment) -> None:
        try:
            self._associate(token, adjustment.account)
        except Refused as refused:
            # An allowance that is missing or too small counts before the missing association.
            if refused.code == "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT" and adjustment.approved:
                owner, amount = adjustment.account, -adjustment.amount
                check_unit_allowance(self._ledger, self._spender, token.id, owner, amount)
            raise

    def _associate_receiver(self, token: Token, nft: NftTransfer) -> None:
        row = self._ledger.nft(token.id, nft.serial_number)
        if self._ledger.relationship(token, nft.sender) is None:
            if row is not None and nft.approved:
                check_nft_allowance(self._ledger, self._spender, token, nft)
            raise Refused("TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
        if row is None:
            raise Refused("INVALID_NFT_ID")
        self._associate(token, nft.receiver)

    def _associate(self, token: Token, account_id: int) -> None:
        account = required(account_of(self._ledger, account_id), "INVALID_ACCOUNT_ID")
        relationship = self._ledger.relationship(token, account_id)
        if relationship is None and account.max_automatic_associations:
            refuse_if(slots_used_up(self._ledger, account), "NO_REMAINING_AUTOMATIC_ASSOCIATIONS")
            refuse_if(has_key(token.kyc_key), "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")
            refuse_if(has_key(token.freeze_key) and token.freeze_default, "ACCOUNT_FROZEN_FOR_TOKEN")
            add_relationship(self._ledger, new_relationship(token, account_id, automatic=True))
            self._outcome.associations += 1
        elif relationship is None:
            raise Refused("TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
        elif is_frozen(token, relationship):
            raise Refused("ACCOUNT_FROZEN_FOR_TOKEN")


def check_nft_allowance(ledger: Overlay, spender: int | None, token: Token, nft: NftTransfer) -> None:
    """Refuse a spender that is approved neither for the serial nor for all of its owner. Errors: Refused."""
    row = ledger.nft(token.id, nft.serial_number)
    is_approved = (
        spender is not None
        and row is not None
        and (ledger.approved_for_all(token.id, nft.sender, spender) or row.spender == spender)
    )
    refuse_if(not is_approved, "SPENDER_DOES_NOT_HAVE_ALLOWANCE")
