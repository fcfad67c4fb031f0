"""The custom fees of a transfer, level after level: the request, then the fees of the level before.

A fee in the charging token itself changes the level, any other one is part of the next level, where it may be
charged fees again.
"""

from collections.abc import Collection, Mapping
from itertools import count
from typing import Any, NamedTuple

from mirror.core.db.reading.sql import MAX_INT64
from web3sim.operations.holdings import has_no_free_slots, usable_token
from web3sim.operations.rejections import Rejected, reject_if
from web3sim.operations.transfers.body import Adjustment, NftTransfer, TokenTransfers, Transfers
from web3sim.state.overlay import Overlay
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


def charge_fractional(level: Level, of_token: TokenFees, sender: int) -> None:
    """Charge the fractional fees for what one account gives.

    Without receivers that are not exempt nothing is charged. Net of transfers the sender pays on top of what
    it gives; else the receivers get less, each in proportion.
    """
    token_id = of_token.token.id
    requested = level.requested[token_id]
    debit = -requested[sender]
    reject_if(debit <= 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
    remaining = debit
    for fee in of_token.fractional:
        credits = {
            account: amount
            for account, amount in requested.items()
            if amount > 0 and not of_token.is_exempt(account, fee)
        }
        if not credits or sender == fee["collector_account_id"]:
            continue
        if fee["net_of_transfers"]:
            if not of_token.is_exempt(sender, fee):
                amount = _clamp(fraction_of(debit, fee), fee)
                level.charge(of_token.token, sender, fee["collector_account_id"], amount, token_id)
            continue
        debits = sum(-amount for account, amount in requested.items() if amount < 0)
        total_fee = _clamp(fraction_of(sum(credits.values()), fee), fee)
        # Of several senders each causes its share.
        amount = debit * total_fee // debits
        if amount:
            remaining -= amount
            reject_if(remaining < 0, INSUFFICIENT_FOR_FEE)
            _withhold(level, of_token, fee, amount, tuple(credits))


def _clamp(amount: int, fee: Fee) -> int:
    amount = max(amount, fee["minimum_amount"])
    maximum = fee["maximum_amount"]
    return min(amount, maximum) if maximum else amount


def _withhold(level: Level, of_token: TokenFees, fee: Fee, amount: int, payers: tuple[int, ...]) -> None:
    """Take an amount from what the receivers still get."""
    token_id, collector = of_token.token.id, fee["collector_account_id"]
    balances = level.left[token_id]
    available = {
        account: balance
        for account, balance in balances.items()
        if balance > 0 and not of_token.is_exempt(account, fee)
    }
    total = sum(available.values())
    reject_if(total < amount, INSUFFICIENT_FOR_FEE)
    shares = {account: balance * amount // total for account, balance in available.items()}
    remainder = amount - sum(shares.values())
    for account, balance in available.items():
        extra = min(remainder, balance - shares[account])
        balances[account] = balance - shares[account] - extra
        remainder -= extra
    balances[collector] = balances.get(collector, 0) + amount
    level.assessed.append(AssessedFee(payers, collector, amount, token_id))


def charge_royalties(level: Level, of_token: TokenFees, nft: NftTransfer) -> None:
    """Charge the royalties for a serial, once for all serials of a token that an account sends."""
    token = of_token.token
    if (nft.sender, token.id) in level.royalties_paid:
        return
    exchanged = {
        token_id: amounts[nft.sender]
        for token_id, amounts in level.requested.items()
        if amounts.get(nft.sender, 0) > 0
    }
    has_paid = (nft.receiver, token.id) in level.royalties_paid
    for fee in of_token.royalty:
        collector = fee["collector_account_id"]
        if exchanged:
            if not of_token.is_exempt(nft.sender, fee):
                for token_id, amount in exchanged.items():
                    royalty = fraction_of(amount, fee)
                    reject_if(royalty > amount, "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE")
                    level.withhold(nft.sender, collector, royalty, token_id)
            continue
        fallback = fee["fallback_fee"]
        if fallback and not has_paid and not of_token.is_exempt(nft.receiver, fee):
            denominating = fallback["denominating_token_id"]
            level.charge(token, nft.receiver, collector, fallback["amount"], denominating)
    level.royalties_paid.add((nft.sender if exchanged else nft.receiver, token.id))


#: A fee may be charged a fee, and that one another.
MAX_DEPTH = 2
#: Accounts and serials that a transfer with custom fees changes.
MAX_CHANGES = 20


class Assessment(NamedTuple):
    """The requested transfers, changed by their fees, then the levels of fees; and all fees."""

    levels: tuple[Transfers, ...]
    fees: tuple[AssessedFee, ...]


def assess(ledger: Overlay, transfers: Transfers, created: Collection[int] = ()) -> Assessment:
    """Charge the custom fees of all tokens that move. `created` accounts pay none."""
    levels: list[Transfers] = []
    fees: list[AssessedFee] = []
    for depth in count():
        reject_if(depth > MAX_DEPTH, "CUSTOM_FEE_CHARGING_EXCEEDED_MAX_RECURSION_DEPTH")
        level = Level(transfers)
        for each in transfers.tokens:
            _charge(ledger, level, each, created)
        if not level.assessed:
            break
        levels.append(level.remaining())
        fees += level.assessed
        transfers = level.next()
        if not transfers.tokens:
            break
    if transfers.hbar or transfers.tokens:
        levels.append(transfers)
    reject_if(fees and _changes(levels) > MAX_CHANGES, "CUSTOM_FEE_CHARGING_EXCEEDED_MAX_ACCOUNT_AMOUNTS")
    return Assessment(tuple(levels), tuple(fees))


def _charge(ledger: Overlay, level: Level, transfers: TokenTransfers, created: Collection[int]) -> None:
    """Charge the fees of one token: for what each account gives, then for each serial."""
    fees = ledger.custom_fees(transfers.token_id)
    token = ledger.token(transfers.token_id) or usable_token(ledger, transfers.token_id)
    if fees == CustomFees():
        return
    of_token = TokenFees(token, fees)
    for adjustment in transfers.adjustments:
        if token.unique and adjustment.amount:
            raise Rejected("ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON")
        if adjustment.amount < 0 and adjustment.account != token.treasury_account_id:
            _charge_fixed(level, of_token, adjustment.account)
            _check_payers(ledger, level, created)
            charge_fractional(level, of_token, adjustment.account)
            _check_payers(ledger, level, created)
    reject_if(transfers.nfts and not token.unique, "NFT_TRANSFERS_ONLY_ALLOWED_FOR_NON_FUNGIBLE_UNIQUE")
    for nft in transfers.nfts:
        if nft.sender != token.treasury_account_id:
            _charge_fixed(level, of_token, nft.sender)
            _check_payers(ledger, level, created)
            charge_royalties(level, of_token, nft)
            _check_payers(ledger, level, created)


def _charge_fixed(level: Level, of_token: TokenFees, payer: int) -> None:
    for fee in of_token.fixed:
        if not of_token.is_exempt(payer, fee):
            collector = fee["collector_account_id"]
            level.charge(of_token.token, payer, collector, fee["amount"], fee["denominating_token_id"])


def _check_payers(ledger: Overlay, level: Level, created: Collection[int]) -> None:
    """Refuse payers that can't have what they would pay: new accounts, and those not associated."""
    for token_id, amounts in level.charged.items():
        for account, amount in amounts.items():
            if amount >= 0:
                continue
            if token_id is None:
                reject_if(account in created, INSUFFICIENT_FOR_FEE)
            else:
                _check_payer(ledger, level, token_id, account, created)


def _check_payer(
    ledger: Overlay, level: Level, token_id: int, account: int, created: Collection[int]
) -> None:
    token = ledger.token(token_id)
    if token is not None and ledger.relationship(token, account) is not None:
        return
    reject_if(account in created, INSUFFICIENT_FOR_FEE)
    entity = ledger.entity(account)
    gets_it = level.requested.get(token_id, {}).get(account, 0) > 0
    if entity is not None and gets_it and not has_no_free_slots(ledger, entity):
        # It is associated by this very transfer.
        return
    raise Rejected("TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")


def _changes(levels: list[Transfers]) -> int:
    """Count the serials and the different accounts of hbar and of each token."""
    hbar = {each.account for level in levels for each in level.hbar}
    units = {
        (tokens.token_id, each.account)
        for level in levels
        for tokens in level.tokens
        for each in tokens.adjustments
    }
    nfts = sum(len(tokens.nfts) for level in levels for tokens in level.tokens)
    return len(hbar) + len(units) + nfts
