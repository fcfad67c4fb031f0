"""One level of a transfer, the request or the fees of the level before, and its own fees.

A fee in the charging token itself changes the level, any other one is part of the next level, where it may be
charged fees again.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mirror.core.db.reading.sql import MAX_INT64
from web3sim.operations.rejections import reject_if
from web3sim.operations.transfers.body import Adjustment, TokenTransfers, Transfers
from web3sim.state.tables.rows import CustomFees, Token

INSUFFICIENT_FOR_FEE = "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE"
#: What is moved, by the token it is of; None is hbar.
Amounts = dict[int | None, dict[int, int]]
Fee = Mapping[str, Any]


class AssessedFee(NamedTuple):
    """`token_id` is None for hbar; the payers are those who have less for it."""

    payers: tuple[int, ...]
    collector: int
    amount: int
    token_id: int | None


class TokenFees:
    """The fees of a token that have a collector, and who is exempt from them."""

    def __init__(self, token: Token, fees: CustomFees) -> None:
        self.token = token
        self.fixed, self.fractional, self.royalty = map(
            _collected, (fees.fixed, fees.fractional, fees.royalty)
        )
        self._collectors = frozenset(
            fee["collector_account_id"] for fee in (*self.fixed, *self.fractional, *self.royalty)
        )

    def is_exempt(self, account: int, fee: Fee) -> bool:
        """The treasury is exempt, the collector of the fee, and if the fee says so every collector."""
        if account in (self.token.treasury_account_id, fee["collector_account_id"]):
            return True
        return bool(fee["all_collectors_are_exempt"]) and account in self._collectors


def _collected(fees: tuple[Fee, ...]) -> tuple[Fee, ...]:
    return tuple(fee for fee in fees if fee["collector_account_id"] is not None)


class Level:
    """`requested` is what the level moves, `left` what remains of it, `charged` the next level's fees."""

    def __init__(self, transfers: Transfers) -> None:
        self.transfers = transfers
        self.requested: Amounts = {None: {}}
        for each in transfers.hbar:
            _add(self.requested[None], each.account, each.amount)
        for tokens in transfers.tokens:
            amounts = self.requested.setdefault(tokens.token_id, {})
            for each in tokens.adjustments:
                _add(amounts, each.account, each.amount)
        self.left: Amounts = {key: dict(amounts) for key, amounts in self.requested.items()}
        self.charged: Amounts = {}
        #: (account, token) that has paid the royalties of all serials of the level.
        self.royalties_paid: set[tuple[int, int]] = set()
        self.assessed: list[AssessedFee] = []

    def charge(self, token: Token, payer: int, collector: int, amount: int, token_id: int | None) -> None:
        """Charge an amount of a token, or of hbar, for a transfer of `token`."""
        amounts = self.left if token.id == token_id else self.charged
        accounts = amounts.setdefault(token_id, {})
        _add(accounts, payer, -amount)
        _add(accounts, collector, amount)
        self.assessed.append(AssessedFee((payer,), collector, amount, token_id))

    def withhold(self, payer: int, collector: int, amount: int, token_id: int | None) -> None:
        """Take an amount from what an account gets on this level; its collector gets it on the next."""
        _add(self.left[token_id], payer, -amount)
        _add(self.charged.setdefault(token_id, {}), collector, amount)
        self.assessed.append(AssessedFee((payer,), collector, amount, token_id))

    def remaining(self) -> Transfers:
        """Return the transfers of this level, changed by its fees."""
        tokens = tuple(
            TokenTransfers(each.token_id, self._changed(each.token_id, each.adjustments), each.nfts)
            for each in self.transfers.tokens
        )
        return Transfers(self._changed(None, self.transfers.hbar), tokens)

    def _changed(self, token_id: int | None, adjustments: tuple[Adjustment, ...]) -> tuple[Adjustment, ...]:
        """Approvals stay; who has become a party by a fee comes last."""
        requested, left = self.requested[token_id], self.left[token_id]
        changes = {account: amount - requested.get(account, 0) for account, amount in left.items()}
        changed = [
            Adjustment(each.account, each.amount + changes.pop(each.account, 0), each.approved)
            for each in adjustments
        ]
        changed += (Adjustment(account, change) for account, change in changes.items())
        return tuple(changed)

    def next(self) -> Transfers:
        """Return the fees as transfers of the next level."""
        hbar = _adjustments(self.charged.get(None, {}))
        tokens = (
            TokenTransfers(token_id, _adjustments(amounts))
            for token_id, amounts in self.charged.items()
            if token_id is not None
        )
        return Transfers(hbar, tuple(tokens))


def fraction_of(amount: int, fee: Fee) -> int:
    """Return the part of an amount that a fee names, rounded down."""
    fraction = int(amount * fee["numerator"] // fee["denominator"])
    reject_if(fraction > MAX_INT64, "CUSTOM_FEE_OUTSIDE_NUMERIC_RANGE")
    return fraction


def _add(amounts: dict[int, int], account: int, amount: int) -> None:
    amounts[account] = amounts.get(account, 0) + amount


def _adjustments(amounts: dict[int, int]) -> tuple[Adjustment, ...]:
    return tuple(Adjustment(account, amount) for account, amount in amounts.items())
