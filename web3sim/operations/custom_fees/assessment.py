"""The custom fees of a transfer, level after level."""

from collections.abc import Collection
from itertools import count
from typing import NamedTuple

from web3sim.operations.custom_fees.fractional import charge_fractional
from web3sim.operations.custom_fees.level import INSUFFICIENT_FOR_FEE, AssessedFee, Level, TokenFees
from web3sim.operations.custom_fees.royalty import charge_royalties
from web3sim.operations.holdings import has_no_free_slots, usable_token
from web3sim.operations.rejections import Rejected, reject_if
from web3sim.operations.transfers.body import TokenTransfers, Transfers
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import CustomFees

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
