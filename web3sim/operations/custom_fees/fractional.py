"""Fractional fees: a part of the units that move, paid by the sender or taken from the receivers."""

from web3sim.operations.custom_fees.level import (
    INSUFFICIENT_FOR_FEE,
    AssessedFee,
    Fee,
    Level,
    TokenFees,
    fraction_of,
)
from web3sim.operations.rejections import reject_if


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
