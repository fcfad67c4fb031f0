"""TokenMint, TokenBurn, TokenWipe: the supply of tokens, in units or serials.

A token that can't be found is refused first, then whoever has not signed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mirror.core.db.reading.sql import MAX_INT64
from web3sim.engine.interface import Address
from web3sim.operations.holdings import add_units, associated, check_frozen_and_kyc, owner_of
from web3sim.operations.refusals import Refused, refuse_if, required
from web3sim.operations.signers import Signers
from web3sim.operations.token_lookup import check_signed, check_usable, has_key, named_token
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Nft, Token

#: Serials, or metadata of them, in one operation.
MOST_SERIALS = 10
MOST_METADATA_BYTES = 100
_HIGHEST_SERIAL = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class NewSupply:
    """What an operation has left of a token. `account` got or lost `amount` units or the serials."""

    token: Token
    total: int
    account: int
    amount: int = 0
    serials: tuple[int, ...] = ()


def mint(
    ledger: Overlay, signers: Signers, address: Address, amount: int, metadata: Sequence[bytes], *, now: int
) -> NewSupply:
    """Give the treasury new units, or a new serial for each metadata; `now` is in ns.

    Checks, in this order: units or serials, an amount; the token, its supply key's signature; the number of
    serials, the length of their metadata; the token is usable, has a supply key; the treasury's relationship;
    serials are given and their numbers not used up; the supply. Errors: Refused.
    """
    refuse_if(metadata and amount > 0, "INVALID_TRANSACTION_BODY")
    refuse_if(amount < 0, "INVALID_TOKEN_MINT_AMOUNT")
    token = named_token(ledger, address)
    check_signed(signers, token.supply_key)
    check_count(metadata)
    refuse_if(any(len(each) > MOST_METADATA_BYTES for each in metadata), "METADATA_TOO_LONG")
    _check_supply_key(ledger, token)
    _check_relationship(ledger, token, token.treasury_account_id)
    if not token.unique:
        total = _change_supply(ledger, token, amount, "INVALID_TOKEN_MINT_AMOUNT")
        return NewSupply(token, total, token.treasury_account_id, amount)
    refuse_if(not metadata, "INVALID_TOKEN_MINT_METADATA")
    newest = ledger.newest_serial(token.id)
    refuse_if(newest + len(metadata) > _HIGHEST_SERIAL, "SERIAL_NUMBER_LIMIT_REACHED")
    total = _change_supply(ledger, token, len(metadata), "FAIL_INVALID")
    serials = tuple(range(newest + 1, newest + 1 + len(metadata)))
    for serial_number, each in zip(serials, metadata, strict=True):
        ledger.put_nft(token.id, serial_number, Nft(token.treasury_account_id, None, each, now))
    ledger.put_newest_serial(token.id, serials[-1])
    return NewSupply(token, total, token.treasury_account_id, serials=serials)


def burn(
    ledger: Overlay, signers: Signers, address: Address, amount: int, serials: Sequence[int]
) -> NewSupply:
    """Take units, or of a unique token serials, from the treasury; the other argument is ignored.

    Checks, in this order: the amount, or the serials' numbers; the token, its supply key's signature; the
    number of serials; the token is usable, has a supply key; the treasury's relationship; serials are given,
    exist and are the treasury's; the supply. Errors: Refused.
    """
    named = ledger.token_at(address) or ledger.token_deleted_at(address)
    unique = named is not None and named.unique
    amount, serials = (0, tuple(dict.fromkeys(serials))) if unique else (amount, ())
    _check_amounts(amount, serials, "INVALID_TOKEN_BURN_AMOUNT")
    token = named_token(ledger, address)
    check_signed(signers, token.supply_key)
    check_count(serials)
    _check_supply_key(ledger, token)
    _check_relationship(ledger, token, token.treasury_account_id)
    if not unique:
        total = _change_supply(ledger, token, -amount, "INVALID_TOKEN_BURN_AMOUNT")
        return NewSupply(token, total, token.treasury_account_id, amount)
    refuse_if(not serials, "INVALID_TOKEN_BURN_METADATA")
    _check_owner(ledger, token, serials, token.treasury_account_id, "TREASURY_MUST_OWN_BURNED_NFT")
    total = _change_supply(ledger, token, -len(serials), "FAIL_INVALID")
    _end(ledger, token, serials)
    return NewSupply(token, total, token.treasury_account_id, serials=serials)


def wipe(
    ledger: Overlay,
    signers: Signers,
    token_address: Address,
    account_address: Address,
    amount: int,
    serials: Sequence[int],
) -> NewSupply:
    """Take units or serials from an account that is not the treasury.

    Checks, in this order: the amount, the serials' numbers; the token, its wipe key's signature; the account;
    the number of serials; the token is usable, has a wipe key; the account's relationship, it is not the
    treasury; it has the units, or serials are given, exist and are the account's. Errors: Refused.
    """
    serials = tuple(dict.fromkeys(serials))
    _check_amounts(amount, serials, "INVALID_WIPING_AMOUNT")
    token = named_token(ledger, token_address)
    check_signed(signers, token.wipe_key)
    account = required(ledger.account_id_at(account_address), "INVALID_ACCOUNT_ID")
    check_count(serials)
    check_usable(ledger, token)
    refuse_if(not has_key(token.wipe_key), "TOKEN_HAS_NO_WIPE_KEY")
    _check_relationship(ledger, token, account)
    refuse_if(account == token.treasury_account_id, "CANNOT_WIPE_TOKEN_TREASURY_ACCOUNT")
    if not token.unique:
        # Serials of a fungible token count for nothing.
        return NewSupply(token, _wipe(ledger, token, account, amount), account, amount)
    refuse_if(not serials, "INVALID_WIPING_AMOUNT")
    _check_owner(ledger, token, serials, account, "ACCOUNT_DOES_NOT_OWN_WIPED_NFT")
    total = _wipe(ledger, token, account, len(serials))
    _end(ledger, token, serials)
    return NewSupply(token, total, account, serials=serials)


# CHECKS


def _check_amounts(amount: int, serials: Sequence[int], code: str) -> None:
    refuse_if(amount > 0 and serials, "INVALID_TRANSACTION_BODY")
    refuse_if(amount < 0, code)
    refuse_if(any(serial_number <= 0 for serial_number in serials), "INVALID_NFT_ID")


def check_count(serials: Sequence[int] | Sequence[bytes]) -> None:
    """Errors: Refused, if they are more than an operation may have."""
    refuse_if(len(serials) > MOST_SERIALS, "BATCH_SIZE_LIMIT_EXCEEDED")


def _check_supply_key(ledger: Overlay, token: Token) -> None:
    check_usable(ledger, token)
    refuse_if(not has_key(token.supply_key), "TOKEN_HAS_NO_SUPPLY_KEY")


def _check_relationship(ledger: Overlay, token: Token, account: int) -> None:
    check_frozen_and_kyc(token, associated(ledger, token, account))


def _check_owner(ledger: Overlay, token: Token, serials: Sequence[int], owner: int, code: str) -> None:
    """Errors: Refused, with `code` if a serial is another's."""
    for serial_number in serials:
        nft = required(ledger.nft(token.id, serial_number), "INVALID_NFT_ID")
        refuse_if(owner_of(token, nft) != owner, code)


# CHANGES


def _change_supply(ledger: Overlay, token: Token, amount: int, code: str) -> int:
    """Change what the treasury has, and return the supply. Errors: Refused, with `code` below zero."""
    total = ledger.total_supply(token) + amount
    refuse_if(not 0 <= total <= MAX_INT64, code)
    refuse_if(token.finite and total > token.max_supply, "TOKEN_MAX_SUPPLY_REACHED")
    if ledger.entity(token.treasury_account_id) is None:
        raise Refused("INVALID_TREASURY_ACCOUNT_FOR_TOKEN")
    add_units(ledger, token, token.treasury_account_id, amount)
    ledger.put_total_supply(token.id, total)
    return total


def _wipe(ledger: Overlay, token: Token, account: int, amount: int) -> int:
    total = ledger.total_supply(token) - amount
    refuse_if(total < 0, "INVALID_WIPING_AMOUNT")
    add_units(ledger, token, account, -amount, "INVALID_WIPING_AMOUNT")
    ledger.put_total_supply(token.id, total)
    return total


def _end(ledger: Overlay, token: Token, serials: Sequence[int]) -> None:
    for serial_number in serials:
        ledger.put_nft(token.id, serial_number, None)
