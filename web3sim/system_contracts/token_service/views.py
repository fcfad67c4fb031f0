"""The views of tokens, also those of ERC-20 and ERC-721 (HIP-218).

Amounts are in the token's smallest unit. Most take a token: `token_view` makes the function of such a view.
"""

from collections.abc import Callable
from typing import Any

from mirror.core.db.reading.sql import MAX_INT64
from mirror.core.values import entity_id
from web3sim.engine.interface import ZERO_ADDRESS, Address
from web3sim.operations.holdings import KYC_GRANTED, existing_account, has_kyc, is_frozen, owner_of
from web3sim.operations.rejections import Rejected, Rejection, reject_if, required
from web3sim.state.tables.rows import Nft, Relationship, Token
from web3sim.system_contracts.abi import InvalidArguments
from web3sim.system_contracts.functions import Invocation
from web3sim.system_contracts.token_service.bodies import KEY_COLUMNS
from web3sim.system_contracts.token_service.info import (
    accounts_of,
    expiry,
    fee_structs,
    key_value,
    nft_info,
    no_token_info,
    token_info,
)

_MAX_INT32, _MAX_UINT8 = 2**31 - 1, 255
_NO_SERIAL = "ERC721Metadata: URI query for nonexistent token"

View = Callable[..., Any]


def token_view(view: View, *, free_when_static: bool = False) -> View:
    """Return the function whose first argument is the address of the token.

    With `free_when_static` a refusal in a static frame costs nothing.
    """

    def function(invocation: Invocation, token: Address, *arguments: Any) -> Any:
        try:
            return view(invocation, invocation.token(token), *arguments)
        except Rejected as refused:
            if free_when_static and invocation.call.static:
                raise Rejected(refused.code, Rejection.FREE_TEXT) from None
            raise

    return function


# THE TOKEN


def is_token(invocation: Invocation, address: Address) -> bool:
    return invocation.ledger.known_token_at(address) is not None


def default_kyc_status(invocation: Invocation, token: Token) -> bool:
    return not token.kyc_key or token.kyc_status == KYC_GRANTED


def expiry_info(invocation: Invocation, token: Token) -> tuple[Any]:
    return (expiry(token),)


def token_key(invocation: Invocation, token: Token, key_type: int) -> tuple[Any]:
    column = KEY_COLUMNS.get(key_type & 0xFFFF_FFFF)
    value = None if column is None else key_value(getattr(token, column))
    return (required(value, "KEY_NOT_PROVIDED"),)


def custom_fees(invocation: Invocation, address: Address) -> tuple[Any, ...]:
    """An unknown token has none."""
    try:
        token = _loaded(invocation, address)
    except Rejected as refused:
        reject_if(not invocation.call.static, refused.code)
        return [], [], []
    return fee_structs(invocation.ledger, invocation.ledger.custom_fees(token.id))


# RELATIONSHIPS


def _relationship(invocation: Invocation, token: Token, address: Address) -> Relationship | None:
    """Errors: Rejected, if the account is unknown."""
    return invocation.ledger.relationship(token, existing_account(invocation.ledger, address).id)


def frozen(invocation: Invocation, token: Token, account: Address) -> bool:
    relationship = _relationship(invocation, token, account)
    return relationship is not None and is_frozen(token, relationship)


def kyc(invocation: Invocation, token: Token, account: Address) -> bool:
    """Without a KYC key every associated account has KYC."""
    relationship = _relationship(invocation, token, account)
    return relationship is not None and has_kyc(token, relationship)


def is_associated(invocation: Invocation, token: Token) -> bool:
    """Of the caller."""
    account = invocation.sender_id
    return account is not None and invocation.ledger.relationship(token, account) is not None


# STRUCTS


def _loaded(invocation: Invocation, address: Address, serial_number: int | None = None) -> Token:
    """Read a token and the rest of its structs in one statement, and their accounts in another.

    Errors: Rejected.
    """
    ledger = invocation.ledger
    ledger.load_token(address, serial_number)
    token = invocation.token(address)
    nft = None if serial_number is None else ledger.nft(token.id, serial_number)
    ledger.load_accounts(accounts_of(token, ledger.custom_fees(token.id), nft))
    return token


def info(invocation: Invocation, address: Address) -> tuple[Any]:
    return (token_info(invocation.ledger, _loaded(invocation, address)),)


def fungible_info(invocation: Invocation, address: Address) -> tuple[Any]:
    """Also of a unique token, without decimals."""
    token = _loaded(invocation, address)
    return ((token_info(invocation.ledger, token), min(token.decimals, _MAX_INT32)),)


def unique_info(invocation: Invocation, address: Address, serial_number: int) -> tuple[Any]:
    """A refusal answers the serial that was named, also of an unknown token."""
    ledger = invocation.ledger
    try:
        token = _loaded(invocation, address, serial_number)
    except Rejected as refused:
        unknown = no_token_info(), serial_number, ZERO_ADDRESS, 0, b"", ZERO_ADDRESS
        raise Rejected(refused.code, results=(unknown,)) from None
    nft = ledger.nft(token.id, serial_number) if token.unique else None
    if nft is not None:
        return ((token_info(ledger, token), *nft_info(ledger, token, serial_number, nft)),)
    nothing = serial_number, entity_id.long_zero(token.treasury_account_id), 0, b"", ZERO_ADDRESS
    raise Rejected("INVALID_TOKEN_NFT_SERIAL_NUMBER", results=((token_info(ledger, token), *nothing),))


# ERC-20


def total_supply(invocation: Invocation, token: Token) -> int:
    return _amount(invocation.ledger.total_supply(token))


def balance_of(invocation: Invocation, token: Token, account: Address) -> int:
    holder = existing_account(invocation.ledger, account)
    return _amount(invocation.ledger.token_balance(token, holder.id))


def decimals(invocation: Invocation, token: Token) -> int:
    if token.unique:
        raise InvalidArguments("a unique token has no decimals")
    return min(token.decimals, _MAX_UINT8)


def allowance(invocation: Invocation, address: Address, owner_at: Address, spender_at: Address) -> int:
    """Of an unknown token, and of a unique one, 0; in static frames they are refused.

    That of a unique one leaves no child.
    """
    ledger = invocation.ledger
    token = ledger.known_token_at(address)
    if token is None or token.unique:
        invocation.leaves_child = token is None
        reject_if(invocation.call.static, "INVALID_TOKEN_ID", Rejection.TEXT)
        return 0
    owner, spender = _accounts(invocation, owner_at, spender_at)
    if owner is None:
        raise Rejected("INVALID_ALLOWANCE_OWNER_ID", Rejection.TEXT)
    return 0 if spender is None else _amount(ledger.token_allowance(token.id, owner, spender))


def _accounts(invocation: Invocation, *addresses: Address) -> list[int | None]:
    invocation.ledger.state.load(addresses)
    return [invocation.ledger.account_id_at(address) for address in addresses]


def _amount(number: int) -> int:
    """Of balances older than what is stored, the debits may be known, but not the credits."""
    return max(number, 0)


# ERC-721


def _nft(invocation: Invocation, token: Token, serial_number: int) -> Nft | None:
    if not token.unique or serial_number > MAX_INT64:
        return None
    return invocation.ledger.nft(token.id, serial_number)


def owner(invocation: Invocation, token: Token, serial_number: int) -> Address:
    if not token.unique:
        raise InvalidArguments("a fungible token has no serials")
    nft = _nft(invocation, token, serial_number)
    if nft is None:
        raise Rejected("INVALID_TOKEN_NFT_SERIAL_NUMBER", Rejection.WORD)
    return required(invocation.ledger.entity(owner_of(token, nft)), "INVALID_ACCOUNT_ID").address


def token_uri(invocation: Invocation, address: Address, serial_number: int) -> str:
    token = invocation.ledger.known_token_at(address)
    if token is not None and not token.unique:
        raise InvalidArguments("a fungible token has no serials")
    nft = None if token is None else _nft(invocation, token, serial_number)
    return _NO_SERIAL if nft is None else nft.metadata.decode(errors="replace")


def approved(invocation: Invocation, token: Token, serial_number: int) -> Address:
    nft = _nft(invocation, token, serial_number)
    if nft is None:
        wrong_token = invocation.call.static and not token.unique
        raise Rejected("INVALID_TOKEN_ID" if wrong_token else "INVALID_TOKEN_NFT_SERIAL_NUMBER")
    return invocation.ledger.address_of(nft.spender) if nft.spender else ZERO_ADDRESS


def approved_for_all(invocation: Invocation, token: Token, owner: Address, operator: Address) -> bool:
    """An unknown account approves and is approved for nothing."""
    reject_if(not token.unique, "INVALID_TOKEN_ID")
    owner_id, operator_id = _accounts(invocation, owner, operator)
    if owner_id is None or operator_id is None:
        return False
    return invocation.ledger.approved_for_all(token.id, owner_id, operator_id)
