"""TokenMint, TokenBurn, TokenWipe: the supply of tokens, in units or serials.

Every key counts as having signed. Checks are in the order of the network; [T]: the token is not deleted, not
paused.
"""

from collections.abc import Sequence

from mirror.core.db.reading.sql import MAX_INT64
from web3sim.engine.interface import Address
from web3sim.operations import holdings
from web3sim.operations.rejections import reject_if, required
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import Nft, Token

#: Serials, or metadata of them, in one operation.
_MAX_BATCH_SIZE = 10
_MAX_METADATA_BYTES = 100
_MAX_SERIAL_NUMBER = 0xFFFF_FFFF


def mint(
    ledger: Overlay, address: Address, amount: int, metadata: Sequence[bytes]
) -> tuple[int, tuple[int, ...]]:
    """Give the treasury new units, or a new serial for each metadata; return the supply and the serials.

    Checks, in this order: units or serials, an amount; the token; the number of serials, the length of their
    metadata; [T], a supply key; the treasury's relationship; serials are given and their numbers not used up;
    the supply.
    """
    reject_if(metadata and amount > 0, "INVALID_TRANSACTION_BODY")
    reject_if(amount < 0, "INVALID_TOKEN_MINT_AMOUNT")
    token = holdings.named_token(ledger, address)
    reject_if(len(metadata) > _MAX_BATCH_SIZE, "BATCH_SIZE_LIMIT_EXCEEDED")
    reject_if(any(len(each) > _MAX_METADATA_BYTES for each in metadata), "METADATA_TOO_LONG")
    _check_supply_key(ledger, token)
    if not token.unique:
        return _change_supply(ledger, token, amount, "INVALID_TOKEN_MINT_AMOUNT"), ()
    reject_if(not metadata, "INVALID_TOKEN_MINT_METADATA")
    newest = ledger.newest_serial(token.id)
    serial_numbers = tuple(range(newest + 1, newest + 1 + len(metadata)))
    reject_if(serial_numbers[-1] > _MAX_SERIAL_NUMBER, "SERIAL_NUMBER_LIMIT_REACHED")
    total = _change_supply(ledger, token, len(metadata), "FAIL_INVALID")
    now = ledger.state.block.consensus_start
    for serial_number, each in zip(serial_numbers, metadata, strict=True):
        ledger.put_nft(token.id, serial_number, Nft(token.treasury_account_id, None, each, now))
    ledger.put_newest_serial(token.id, serial_numbers[-1])
    return total, serial_numbers


def burn(ledger: Overlay, address: Address, amount: int, serial_numbers: Sequence[int]) -> int:
    """Take units, or of a unique token serials, from the treasury; the other is ignored. Return the supply.

    Checks, in this order: the amount, or the serials' numbers; the token, whose address is a long-zero one;
    the number of serials; [T], a supply key; the treasury's relationship; serials are given, exist and are
    the treasury's; the supply.
    """
    is_token = holdings.token_address(address) == address
    known = ledger.known_token_at(address) if is_token else None
    unique = known is not None and known.unique
    amount, serial_numbers = (0, tuple(dict.fromkeys(serial_numbers))) if unique else (amount, ())
    reject_if(amount < 0, "INVALID_TOKEN_BURN_AMOUNT")
    reject_if(any(serial_number <= 0 for serial_number in serial_numbers), "INVALID_NFT_ID")
    token = required(known, "INVALID_TOKEN_ID")
    reject_if(len(serial_numbers) > _MAX_BATCH_SIZE, "BATCH_SIZE_LIMIT_EXCEEDED")
    _check_supply_key(ledger, token)
    if not unique:
        return _change_supply(ledger, token, -amount, "INVALID_TOKEN_BURN_AMOUNT")
    reject_if(not serial_numbers, "INVALID_TOKEN_BURN_METADATA")
    _remove_nfts(ledger, token, serial_numbers, token.treasury_account_id, "TREASURY_MUST_OWN_BURNED_NFT")
    return _change_supply(ledger, token, -len(serial_numbers), "FAIL_INVALID")


def wipe(
    ledger: Overlay, token_at: Address, account_at: Address, amount: int, serial_numbers: Sequence[int] = ()
) -> None:
    """Take units or serials from an account that is not the treasury.

    Checks, in this order: the amount, the serials' numbers; the token; the account; the number of serials;
    [T], a wipe key; the account's relationship, it is not the treasury; it has the units, or serials are
    given, exist and are the account's.
    """
    serial_numbers = tuple(dict.fromkeys(serial_numbers))
    reject_if(amount < 0, "INVALID_WIPING_AMOUNT")
    reject_if(any(serial_number <= 0 for serial_number in serial_numbers), "INVALID_NFT_ID")
    token = holdings.named_token(ledger, token_at)
    account = holdings.existing_account(ledger, account_at).id
    reject_if(len(serial_numbers) > _MAX_BATCH_SIZE, "BATCH_SIZE_LIMIT_EXCEEDED")
    holdings.check_usable(ledger, token)
    reject_if(not token.wipe_key, "TOKEN_HAS_NO_WIPE_KEY")
    holdings.usable_relationship(ledger, token, account)
    reject_if(account == token.treasury_account_id, "CANNOT_WIPE_TOKEN_TREASURY_ACCOUNT")
    if token.unique:
        reject_if(not serial_numbers, "INVALID_WIPING_AMOUNT")
        _remove_nfts(ledger, token, serial_numbers, account, "ACCOUNT_DOES_NOT_OWN_WIPED_NFT")
        amount = len(serial_numbers)
    total = ledger.total_supply(token) - amount
    reject_if(total < 0, "INVALID_WIPING_AMOUNT")
    holdings.adjust_balance(ledger, token, account, -amount, "INVALID_WIPING_AMOUNT")
    ledger.put_total_supply(token.id, total)


def wipe_nfts(ledger: Overlay, token: Address, account: Address, serial_numbers: Sequence[int]) -> None:
    """Take serials from an account; of a fungible token nothing."""
    wipe(ledger, token, account, 0, serial_numbers)


def _check_supply_key(ledger: Overlay, token: Token) -> None:
    holdings.check_usable(ledger, token)
    reject_if(not token.supply_key, "TOKEN_HAS_NO_SUPPLY_KEY")
    holdings.usable_relationship(ledger, token, token.treasury_account_id)


def _remove_nfts(ledger: Overlay, token: Token, serial_numbers: Sequence[int], owner: int, code: str) -> None:
    """Remove serials of an owner. Errors: Rejected, with `code` if one is another's."""
    for serial_number in serial_numbers:
        nft = required(ledger.nft(token.id, serial_number), "INVALID_NFT_ID")
        reject_if(holdings.owner_of(token, nft) != owner, code)
        ledger.put_nft(token.id, serial_number, None)


def _change_supply(ledger: Overlay, token: Token, amount: int, code: str) -> int:
    """Change what the treasury has, and return the supply. Errors: Rejected, with `code` below zero."""
    total = ledger.total_supply(token) + amount
    reject_if(not 0 <= total <= MAX_INT64, code)
    reject_if(token.finite and total > token.max_supply, "TOKEN_MAX_SUPPLY_REACHED")
    required(ledger.entity(token.treasury_account_id), "INVALID_TREASURY_ACCOUNT_FOR_TOKEN")
    holdings.adjust_balance(ledger, token, token.treasury_account_id, amount)
    ledger.put_total_supply(token.id, total)
    return total
