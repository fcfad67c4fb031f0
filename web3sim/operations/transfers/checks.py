"""What the network checks before a transfer begins: the lists, who takes part. All have signed."""

from collections.abc import Sequence

from mirror.core.values import entity_id
from web3sim.operations import holdings
from web3sim.operations.rejections import Rejected, reject_if, required
from web3sim.operations.transfers.body import (
    Adjustment,
    NftTransfer,
    TokenTransfers,
    Transfers,
    is_placeholder,
)
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import Entity

#: Of a network's default configuration.
MAX_HBAR_ADJUSTMENTS = MAX_FUNGIBLE_ADJUSTMENTS = MAX_NFTS = 10
LAST_SYSTEM_ACCOUNT = 750


# LISTS


def check_lists(transfers: Transfers) -> None:
    """Refuse lists that contradict themselves.

    Checks, in this order: hbar adds up to zero, then no account is there twice; for each token that it is
    named, then the same, then its serials; every token is there once.
    """
    reject_if(sum(each.amount for each in transfers.hbar), "INVALID_ACCOUNT_AMOUNTS")
    _check_repetitions(transfers.hbar)
    check_token_lists(transfers.tokens)


def check_token_lists(tokens: Sequence[TokenTransfers], *, approvals: bool = True) -> None:
    """The same for tokens alone; without `approvals` nothing may come from an allowance."""
    for each in tokens:
        reject_if(not each.token_id, "INVALID_TOKEN_ID")
        if sum(adjustment.amount for adjustment in each.adjustments):
            raise Rejected("TRANSFERS_NOT_ZERO_SUM_FOR_TOKEN")
        reject_if(not approvals and _has_approvals(each), "NOT_SUPPORTED")
        _check_repetitions(each.adjustments)
        _check_serials(each.nfts)
        reject_if(not each.adjustments and not each.nfts, "EMPTY_TOKEN_TRANSFER_ACCOUNT_AMOUNTS")
        reject_if(each.adjustments and each.nfts, "INVALID_ACCOUNT_AMOUNTS")
    reject_if(len({each.token_id for each in tokens}) < len(tokens), "TOKEN_ID_REPEATED_IN_TOKEN_LIST")


def _has_approvals(tokens: TokenTransfers) -> bool:
    return any(each.approved for each in tokens.adjustments) or any(nft.approved for nft in tokens.nfts)


def _check_repetitions(adjustments: Sequence[Adjustment]) -> None:
    if len({each.account for each in adjustments}) < len(adjustments):
        raise Rejected("ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS")


def _check_serials(nfts: Sequence[NftTransfer]) -> None:
    seen: set[int] = set()
    for nft in nfts:
        reject_if(nft.serial_number <= 0, "INVALID_TOKEN_NFT_SERIAL_NUMBER")
        reject_if(nft.serial_number in seen, "INVALID_ACCOUNT_AMOUNTS")
        reject_if(nft.sender == nft.receiver, "ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS")
        seen.add(nft.serial_number)


def check_sizes(transfers: Transfers) -> None:
    reject_if(len(transfers.hbar) > MAX_HBAR_ADJUSTMENTS, "TRANSFER_LIST_SIZE_LIMIT_EXCEEDED")
    units = nfts = 0
    for each in transfers.tokens:
        units += len(each.adjustments)
        nfts += len(each.nfts)
        reject_if(units > MAX_FUNGIBLE_ADJUSTMENTS, "TOKEN_TRANSFER_LIST_SIZE_LIMIT_EXCEEDED")
        reject_if(nfts > MAX_NFTS, "BATCH_SIZE_LIMIT_EXCEEDED")


def credits_system_account(transfers: Transfers) -> bool:
    """Return whether one of the network's own accounts would get something.

    Of an address without an account that gets units the last four bytes count.
    """
    nfts = {nft.receiver for each in transfers.tokens for nft in each.nfts}
    for account in transfers.credited():
        missing = transfers.missing.get(account)
        num = number_of(transfers, account)
        if missing is not None and account not in nfts:
            num = int.from_bytes(missing[-4:])
        if 0 < num <= LAST_SYSTEM_ACCOUNT:
            return True
    return False


def number_of(transfers: Transfers, account: int) -> int:
    """The number of an account, or of a long-zero address without one; 0 at other addresses."""
    address = transfers.missing.get(account)
    if address is None:
        return entity_id.decode(account)[2]
    return entity_id.num_of_long_zero(address) or 0


# WHO TAKES PART


def check_participants(ledger: Overlay, transfers: Transfers) -> None:
    """Errors: Rejected.

    Checks, in this order: for each token that it is there, then the accounts of its lists; the accounts that
    hbar moves between.
    """
    for each in transfers.tokens:
        unknown = is_placeholder(each.token_id) or ledger.known_token(each.token_id) is None
        reject_if(unknown, "INVALID_TOKEN_ID")
        for adjustment in each.adjustments:
            _check_adjustment(ledger, adjustment, hbar=False)
        for nft in each.nfts:
            _check_party(ledger, nft.sender, is_debit=True, approved=nft.approved)
            if not is_placeholder(nft.receiver):
                _check_party(ledger, nft.receiver, is_debit=False)
    for adjustment in transfers.hbar:
        _check_adjustment(ledger, adjustment, hbar=True)


def _check_adjustment(ledger: Overlay, adjustment: Adjustment, *, hbar: bool) -> None:
    is_debit, gets = adjustment.amount < 0, adjustment.amount > 0
    if find_party(ledger, adjustment.account) is None:
        reject_if(is_debit or (hbar and not gets), "INVALID_ACCOUNT_ID")
    elif is_debit or (gets and not hbar):
        _check_party(ledger, adjustment.account, is_debit=is_debit, approved=adjustment.approved)


def _check_party(ledger: Overlay, number: int, *, is_debit: bool, approved: bool = False) -> None:
    account = required(find_party(ledger, number), "INVALID_ACCOUNT_ID")
    if entity_id.decode(number)[2] in holdings.REWARD_ACCOUNTS:
        # A system contract answers this code instead of INVALID_SIGNATURE.
        raise Rejected("INVALID_FULL_PREFIX_SIGNATURE_FOR_PRECOMPILE" if is_debit else "INVALID_ACCOUNT_ID")
    if is_debit and not approved:
        holdings.check_signs(account)


def find_party(ledger: Overlay, number: int) -> Entity | None:
    """Return the account or contract that takes part; None for a placeholder, and if it is not there."""
    return None if is_placeholder(number) else holdings.get_account(ledger, number)


# ALLOWANCES


def check_hbar_allowances(ledger: Overlay, spender: int | None, transfers: Transfers) -> None:
    for each in transfers.hbar:
        if each.approved and each.amount < 0:
            left = 0 if spender is None else ledger.hbar_allowance(each.account, spender)
            check_allowance(left, -each.amount)


def check_fungible_allowance(
    ledger: Overlay, spender: int | None, token_id: int, owner: int, amount: int
) -> int:
    """Return what is left of an allowance after an amount is spent."""
    left = 0 if spender is None else ledger.token_allowance(token_id, owner, spender)
    check_allowance(left, amount)
    return left - amount


def check_allowance(remaining: int, amount: int) -> None:
    reject_if(remaining <= 0, "SPENDER_DOES_NOT_HAVE_ALLOWANCE")
    reject_if(remaining < amount, "AMOUNT_EXCEEDS_ALLOWANCE")
