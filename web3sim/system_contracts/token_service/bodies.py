"""The transactions that create and change tokens, from the structs of calls.

A key of a struct is exactly one of: the key of the caller, the id of a contract, an ED25519 or ECDSA public
key, or the id of a contract that may be delegated.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import (
    AccountID,
    CustomFee,
    FixedFee,
    FractionalFee,
    Key,
    RoyaltyFee,
    SchedulableTransactionBody,
    TokenID,
)
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.operations import prices
from web3sim.operations.holdings import account_number, collect_fee, get_account, token_address
from web3sim.operations.rejections import Rejected, Rejection, reject_if
from web3sim.operations.signatures import contract_key, message_id, signing_key
from web3sim.operations.tokens.create import KEYS, create_token
from web3sim.operations.tokens.update import update_fees, update_token
from web3sim.state.overlay import Overlay
from web3sim.system_contracts.abi import InvalidArguments, int64_of
from web3sim.system_contracts.functions import Invocation

#: Columns of Token by the bits that name the kinds of keys.
KEY_COLUMNS = {
    1: "admin_key",
    2: "kyc_key",
    4: "freeze_key",
    8: "wipe_key",
    16: "supply_key",
    32: "fee_schedule_key",
    64: "pause_key",
}
CREATION_GAS = 100_000
_ED25519_LENGTH, _ECDSA_LENGTH = 32, 33
_UINT64, _UINT32 = 2**64 - 1, 2**32 - 1


# CREATION


def create(invocation: Invocation, message: Any) -> bytes:
    """Create the token of a message and return its address; the caller pays the fee.

    Checks, in this order: the value of the call, symbol and treasury, then as the ledger does. Errors:
    Rejected, InvalidArguments.
    """
    body, ledger = message.tokenCreation, invocation.ledger
    _take_fee(invocation, prices.TOKEN_CREATE_WITH_FEES if body.custom_fees else prices.TOKEN_CREATE)
    check_creation(ledger, body)
    try:
        return ledger.address_of(create_token(ledger, body, _seconds(ledger), invocation.sender_id).id)
    except Rejected as refused:
        raise Rejected(refused.code, refused.rejection or Rejection.WORD) from None


def _seconds(ledger: Overlay) -> int:
    return ledger.state.block.consensus_start // NANOS_PER_SECOND


def check_creation(ledger: Overlay, body: Any) -> None:
    """Errors: Rejected, without a symbol or treasury; InvalidArguments, if no number is the treasury's."""
    reject_if(not body.symbol, "MISSING_TOKEN_SYMBOL", Rejection.TEXT)
    treasury = entity_id.from_account(body.treasury)
    if not treasury:
        raise InvalidArguments("the treasury has no number")
    reject_if(get_account(ledger, treasury) is None, "INVALID_ACCOUNT_ID", Rejection.TEXT)


def _take_fee(invocation: Invocation, price: int) -> None:
    """Charge the fee with a fifth on it, without what the gas pays. Errors: Rejected."""
    call, ledger = invocation.call, invocation.ledger
    fee = invocation.prices.tinybars(price)
    fee = max(fee + fee // 5 - CREATION_GAS * invocation.prices.gas, 0)
    reject_if(call.value < fee, "INSUFFICIENT_TX_FEE")
    # By address: the sender may exist by the request's overrides alone.
    ledger.journal.set_balance(call.sender, ledger.journal.get_balance(call.sender) - fee)
    collect_fee(ledger, fee)


def fungible_token(
    invocation: Invocation, struct: Any, supply: int, decimals: int, fixed: Any = (), fractional: Any = ()
) -> Any:
    message = _creation(invocation, struct, fixed, fractional=fractional)
    if decimals > _UINT32:
        raise InvalidArguments(f"{decimals} are no decimals")
    message.tokenCreation.initialSupply = int64_of(supply) & _UINT64
    message.tokenCreation.decimals = decimals & _UINT32
    return message


def unique_token(invocation: Invocation, struct: Any, fixed: Any = (), royalty: Any = ()) -> Any:
    message = _creation(invocation, struct, fixed, royalty=royalty)
    message.tokenCreation.tokenType = 1
    return message


def _creation(
    invocation: Invocation, struct: Any, fixed: Any, *, fractional: Any = (), royalty: Any = ()
) -> Any:
    """Return a SchedulableTransactionBody, from a HederaToken of any version. Errors: InvalidArguments."""
    name, symbol, treasury, memo, finite, max_supply, freeze_default, token_keys, expiry = struct
    message: Any = SchedulableTransactionBody()
    body = message.tokenCreation
    body.name, body.symbol, body.memo = name, symbol, memo
    body.supplyType, body.maxSupply, body.freezeDefault = int(finite), max_supply, freeze_default
    body.treasury.CopyFrom(_account(account_number(invocation.ledger, treasury)))
    _set_keys(invocation, body, token_keys)
    _set_expiry(body, expiry, _number(invocation.ledger, expiry[1]))
    body.custom_fees.extend(_fees(invocation.ledger, fixed, fractional=fractional, royalty=royalty))
    return message


# CHANGES


def update(invocation: Invocation, message: Any) -> None:
    """Change the token of a message; account 0 as the treasury changes none. Errors: Rejected."""
    ledger, body = invocation.ledger, message.tokenUpdate
    if body.HasField("treasury") and body.treasury == AccountID(accountNum=0):
        body.ClearField("treasury")
    update_token(ledger, body, _seconds(ledger), invocation.sender_id)


def info_change(invocation: Invocation, token: bytes, struct: Any) -> Any:
    """Supply and freeze default of the struct are not changed."""
    name, symbol, treasury, memo, _, _, _, token_keys, expiry = struct
    message = keys_change(invocation, token, token_keys)
    body = message.tokenUpdate
    body.name, body.symbol, body.memo.value = name, symbol, memo
    number = account_number(invocation.ledger, treasury)
    # An address without an account stays one, to differ from account 0.
    body.treasury.CopyFrom(AccountID(alias=treasury) if number is None else _account(number))
    _set_expiry(body, expiry, account_number(invocation.ledger, expiry[1]))
    return message


def expiry_change(invocation: Invocation, token: bytes, expiry: Any) -> Any:
    message = keys_change(invocation, token, ())
    _set_expiry(message.tokenUpdate, expiry, account_number(invocation.ledger, expiry[1]))
    return message


def keys_change(invocation: Invocation, token: bytes, token_keys: Any) -> Any:
    message: Any = SchedulableTransactionBody()
    token_id = invocation.ledger.state.encoded(_token_num(token))
    message.tokenUpdate.token.CopyFrom(message_id(TokenID, "tokenNum", token_id))
    _set_keys(invocation, message.tokenUpdate, token_keys)
    return message


def fee_limits(invocation: Invocation, token: bytes, first: Sequence[Any], second: Sequence[Any]) -> None:
    too_many = len(first) + len(second) > 10
    reject_if(too_many, "CUSTOM_FEES_LIST_TOO_LONG")


def update_fungible_fees(invocation: Invocation, token: bytes, fixed: Any, fractional: Any) -> None:
    fees = _fees(invocation.ledger, fixed, fractional=fractional, strict=False)
    update_fees(invocation.ledger, token, fees)


def update_unique_fees(invocation: Invocation, token: bytes, fixed: Any, royalty: Any) -> None:
    update_fees(invocation.ledger, token, _fees(invocation.ledger, fixed, royalty=royalty, strict=False))


# ACCOUNTS, EXPIRY, KEYS


def _number(ledger: Overlay, address: bytes) -> int:
    """Return the number of an account, 0 for none. Errors: InvalidArguments, if the address has no number."""
    number = account_number(ledger, address)
    if number is None:
        raise InvalidArguments(f"0x{address.hex()} has no number")
    return number


def _account(number: int | None) -> Any:
    return message_id(AccountID, "accountNum", number or 0)


def _set_expiry(body: Any, expiry: tuple[Any, ...], auto_renew_account: int | None) -> None:
    second, _, auto_renew_period = expiry
    if second:
        body.expiry.seconds = second
    if auto_renew_account:
        body.autoRenewAccount.CopyFrom(_account(auto_renew_account))
    if auto_renew_period:
        body.autoRenewPeriod.seconds = auto_renew_period


def _set_keys(invocation: Invocation, body: Any, token_keys: Any) -> None:
    """A later key of a kind counts. Errors: InvalidArguments."""
    for kinds, value in token_keys:
        key = _key(invocation, *value)
        for bit, column in KEY_COLUMNS.items():
            if kinds & bit:
                getattr(body, KEYS[column][0]).CopyFrom(key)


def _key(
    invocation: Invocation, inherits: bool, contract: bytes, ed25519: bytes, ecdsa: bytes, delegatable: bytes
) -> Any:
    """Return the only member of a KeyValue; a public key of another length is none."""
    by_contract, by_delegate = (_number(invocation.ledger, address) for address in (contract, delegatable))
    has_ed25519, has_ecdsa = len(ed25519) == _ED25519_LENGTH, len(ecdsa) == _ECDSA_LENGTH
    if [inherits, bool(by_contract), has_ed25519, has_ecdsa, bool(by_delegate)].count(True) != 1:
        raise InvalidArguments("a key is not exactly one of its members")
    if inherits:
        return _key_of_sender(invocation)
    if by_contract or by_delegate:
        return contract_key(by_contract or by_delegate, delegated=bool(by_delegate))
    return Key(ed25519=ed25519) if has_ed25519 else Key(ECDSA_secp256k1=ecdsa)


def _key_of_sender(invocation: Invocation) -> Any:
    key = signing_key(invocation.sender())
    return Key() if key is None else key


# FEES


def _fees(
    ledger: Overlay,
    fixed: Iterable[Any],
    *,
    fractional: Iterable[Any] = (),
    royalty: Iterable[Any] = (),
    strict: bool = True,
) -> list[Any]:
    """Return CustomFee messages, from FixedFee, FractionalFee and RoyaltyFee of any version.

    Those of a new token are `strict`: what can't be meant raises InvalidArguments.
    """
    fees = []
    for *terms, collector in fixed:
        fees.append(_fee(ledger, collector, strict, fixed_fee=_fixed(ledger, *terms, strict=strict)))
    for numerator, denominator, minimum, maximum, net_of_transfers, collector in fractional:
        fee = FractionalFee(minimum_amount=minimum, maximum_amount=maximum, net_of_transfers=net_of_transfers)
        fee.fractional_amount.numerator, fee.fractional_amount.denominator = numerator, denominator
        fees.append(_fee(ledger, collector, strict, fractional_fee=fee))
    for numerator, denominator, amount, token, in_hbar, collector in royalty:
        share = RoyaltyFee()
        fraction = share.exchange_value_fraction
        fraction.numerator, fraction.denominator = numerator, denominator
        if amount or _token_num(token) or (strict and in_hbar):
            share.fallback_fee.CopyFrom(_fixed(ledger, amount, token, in_hbar, False, strict=strict))
        fees.append(_fee(ledger, collector, strict, royalty_fee=share))
    return fees


def _fee(ledger: Overlay, collector: bytes, strict: bool, **kind: Any) -> Any:
    number = _number(ledger, collector) if strict else account_number(ledger, collector)
    return CustomFee(fee_collector_account_id=_account(number), **kind)


def _fixed(
    ledger: Overlay, amount: int, token: bytes, in_hbar: bool, in_itself: bool, *, strict: bool
) -> Any:
    """Return a FixedFee, in the token itself with token 0.0.0. Errors: InvalidArguments, if `strict`."""
    num = _token_num(token)
    if strict and in_hbar + in_itself + bool(num) != 1:
        raise InvalidArguments("a fee is not in exactly one of hbar, the token itself, a token")
    if in_itself:
        return FixedFee(amount=amount, denominating_token_id=TokenID())
    if in_hbar or not num:
        return FixedFee(amount=amount)
    paid_in = message_id(TokenID, "tokenNum", ledger.state.encoded(num))
    return FixedFee(amount=amount, denominating_token_id=paid_in)


def _token_num(address: bytes) -> int:
    return entity_id.num_of_long_zero(token_address(address)) or 0
