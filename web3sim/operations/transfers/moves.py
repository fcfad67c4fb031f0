"""What a transfer moves: hbar, units, serials, and allowances that it uses up.

Receivers may come into being by it, and be associated automatically (HIP-583, HIP-904).
"""

from collections.abc import Sequence

from mirror.core.values.entity_id import LONG_ZERO_PREFIX
from mirror.core.values.keys import EMPTY_LIST
from web3sim.engine.interface import AccountKind
from web3sim.operations import holdings
from web3sim.operations.rejections import Rejected, reject_if, required
from web3sim.operations.transfers.body import Adjustment, NftTransfer, Outcome, TokenTransfers, Transfers
from web3sim.operations.transfers.checks import check_allowance, check_fungible_allowance, find_party
from web3sim.operations.transfers.custom_fees import INSUFFICIENT_FOR_FEE, AssessedFee
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


class Moves:
    """`spender` uses allowances; `fees` are those of the transfer, on which the codes of refusals depend."""

    def __init__(
        self, ledger: Overlay, spender: int | None, outcome: Outcome, fees: Sequence[AssessedFee] = ()
    ) -> None:
        self._ledger, self._spender, self._outcome, self._fees = ledger, spender, outcome, fees

    def _owes_fee(self, account: int, token_id: int | None) -> bool:
        """Return whether an account pays a fee in a token, or in hbar."""
        return any(fee.token_id == token_id and account in fee.payers for fee in self._fees)

    # HBAR

    def move_hbar(self, adjustments: Sequence[Adjustment]) -> None:
        """Errors: Rejected. Checks, in this order: the accounts and what they have; allowances."""
        amounts: dict[int, int] = {}
        for each in adjustments:
            amounts[each.account] = amounts.get(each.account, 0) + each.amount
        for account, amount in amounts.items():
            if find_party(self._ledger, account) is None:
                raise Rejected("INVALID_ACCOUNT_ID")
            code = INSUFFICIENT_FOR_FEE if self._owes_fee(account, None) else "INSUFFICIENT_ACCOUNT_BALANCE"
            holdings.add_tinybars(self._ledger, account, amount, code)
        for each in adjustments:
            if each.approved and each.amount < 0:
                self._use_hbar_allowance(each.account, -each.amount)

    def _use_hbar_allowance(self, owner: int, tinybars: int) -> None:
        if self._spender is None:
            raise Rejected("SPENDER_DOES_NOT_HAVE_ALLOWANCE")
        left = self._ledger.hbar_allowance(owner, self._spender)
        check_allowance(left, tinybars)
        self._ledger.put_hbar_allowance(owner, self._spender, left - tinybars)

    # UNITS

    def move_fungible(self, tokens: Sequence[TokenTransfers]) -> None:
        """Errors: Rejected.

        Checks, in this order: for each token that it is not paused and has units, then that its accounts are
        there, associated, not frozen, and have KYC; allowances; what the accounts have.
        """
        amounts: dict[tuple[int, int], int] = {}
        approved: dict[tuple[int, int], int] = {}
        tokens_by_id: dict[int, Token] = {}
        for each in tokens:
            token = tokens_by_id[each.token_id] = holdings.usable_token(self._ledger, each.token_id)
            for adjustment in each.adjustments:
                self._check_party(token, adjustment.account)
                key = (token.id, adjustment.account)
                amounts[key] = amounts.get(key, 0) + adjustment.amount
                if adjustment.approved and adjustment.amount < 0:
                    approved[key] = approved.get(key, 0) - adjustment.amount
        for (token_id, owner), amount in approved.items():
            self._use_allowance(token_id, owner, amount)
        for (token_id, account), amount in amounts.items():
            code = INSUFFICIENT_FOR_FEE if self._owes_fee(account, token_id) else "INSUFFICIENT_TOKEN_BALANCE"
            holdings.adjust_balance(self._ledger, tokens_by_id[token_id], account, amount, code)
            self._outcome.adjust_balance(token_id, account, amount)

    def _check_party(self, token: Token, account: int) -> None:
        reject_if(token.unique, "ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON")
        if find_party(self._ledger, account) is None:
            raise Rejected("INVALID_ACCOUNT_ID")
        holdings.usable_relationship(self._ledger, token, account)

    def _use_allowance(self, token_id: int, owner: int, amount: int) -> None:
        left = check_fungible_allowance(self._ledger, self._spender, token_id, owner, amount)
        assert self._spender is not None
        self._ledger.put_token_allowance(token_id, owner, self._spender, left)

    # SERIALS

    def move_nfts(self, tokens: Sequence[TokenTransfers]) -> None:
        """Errors: Rejected.

        Checks, in this order, for each serial: its accounts are there, then each is associated, not frozen
        and has KYC; the serial is there; the allowance; its sender owns it.
        """
        for each in tokens:
            token = holdings.usable_token(self._ledger, each.token_id)
            for nft in each.nfts:
                self._move_nft(token, nft)

    def _move_nft(self, token: Token, nft: NftTransfer) -> None:
        parties = (nft.sender, nft.receiver)
        if any(find_party(self._ledger, party) is None for party in parties):
            raise Rejected("INVALID_ACCOUNT_ID")
        for party in parties:
            holdings.usable_relationship(self._ledger, token, party)
        row = self._ledger.nft(token.id, nft.serial_number)
        if row is None or not token.unique:
            raise Rejected("INVALID_NFT_ID")
        if nft.approved:
            check_nft_allowance(self._ledger, self._spender, token, nft)
        reject_if(holdings.owner_of(token, row) != nft.sender, "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")
        holdings.move_nft(self._ledger, token, nft.serial_number, nft.receiver)
        self._outcome.nfts.setdefault(token.id, []).append(nft)
