"""The transactions that create and change tokens, from the structs of calls.

A key of a struct is exactly one of: the key of the caller, the id of a contract, an ED25519 or ECDSA public
key, or the id of a contract that may be delegated.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import (
    AccountID,
    ContractID,
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
from web3sim.operations.holdings import token_address
from web3sim.operations.refusals import Refusal, Refused, refuse_if
from web3sim.operations.signatures import key_of
from web3sim.operations.tokens.create import KEYS, create_token
from web3sim.operations.tokens.update import update_fees, update_token
from web3sim.state.overlay import Overlay
from web3sim.system_contracts.abi import InvalidArguments, int64_of
from web3sim.system_contracts.functions import Invocation

#: Columns of Token by the bits that name the kinds of keys.
KINDS = {
    1: "admin_key",
    2: "kyc_key",
    4: "freeze_key",
    8: "wipe_key",
    16: "supply_key",
    32: "fee_schedule_key",
    64: "pause_key",
    128: "metadata_key",
}
CREATION_GAS = 100_000
_FEE_COLLECTOR_NUM = 98
_ED25519_LENGTH, _ECDSA_LENGTH = 32, 33
_UINT64, _UINT32 = 2**64 - 1, 2**32 - 1


# CREATION


def create(message: Any, invocation: Invocation, struct: tuple[Any, ...]) -> bytes:
    """Create the token of a message and return its address; the caller pays the fee.

    Checks, in this order: the value of the call, symbol and treasury, then as the ledger does. Errors:
    Refused, InvalidArguments.
    """
    body, ledger = message.tokenCreation, invocation.ledger
    _take_fee(invocation, prices.TOKEN_CREATE_WITH_FEES if body.custom_fees else prices.TOKEN_CREATE)
    check_creation(invocation, struct)
    now = ledger.state.block.consensus_start // NANOS_PER_SECOND
    try:
        return ledger.address_of(create_token(ledger, body, now).id)
    except Refused as refused:
        raise Refused(refused.code, Refusal.WORD) from None


def check_creation(invocation: Invocation, struct: tuple[Any, ...]) -> None:
    """Errors: Refused, without a symbol or treasury; InvalidArguments, if no number is the treasury's."""
    _, symbol, treasury, *_ = struct
    refuse_if(not symbol, "MISSING_TOKEN_SYMBOL", Refusal.TEXT)
    if not _num(invocation.ledger, treasury):
        raise InvalidArguments("the treasury has no number")
    refuse_if(invocation.ledger.account_at(treasury) is None, "INVALID_ACCOUNT_ID", Refusal.TEXT)


def _take_fee(invocation: Invocation, price: int) -> None:
    """Charge the fee with a fifth on it, without what the gas pays. Errors: Refused."""
    call, ledger = invocation.call, invocation.ledger
    fee = invocation.prices.tinybars(price)
    fee = max(fee + fee // 5 - CREATION_GAS * invocation.prices.gas, 0)
    refuse_if(call.value < fee, "INSUFFICIENT_TX_FEE")
    ledger.journal.set_balance(call.sender, ledger.journal.get_balance(call.sender) - fee)
    ledger.add_hbar(ledger.state.encoded(_FEE_COLLECTOR_NUM), fee)


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
    body.treasury.CopyFrom(_account(invocation.ledger, treasury))
    _set_keys(invocation, body, token_keys)
    _set_expiry(invocation, body, expiry)
    body.custom_fees.extend(_fees(invocation.ledger, fixed, fractional=fractional, royalty=royalty))
    return message


# CHANGES


def update(message: Any, invocation: Invocation, token: bytes) -> None:
    """Change a token by a message. Errors: Refused."""
    update_token(invocation.ledger, token, message.tokenUpdate)


def change_of_info(invocation: Invocation, token: bytes, struct: Any) -> Any:
    """Supply and freeze default of the struct are not changed."""
    name, symbol, treasury, memo, _, _, _, token_keys, expiry = struct
    message = change_of_keys(invocation, token, token_keys)
    body = message.tokenUpdate
    body.name, body.symbol, body.memo.value = name, symbol, memo
    if any(treasury):
        body.treasury.CopyFrom(_account(invocation.ledger, treasury))
    _set_expiry(invocation, body, expiry)
    return message


def change_of_expiry(invocation: Invocation, token: bytes, expiry: Any) -> Any:
    message = change_of_keys(invocation, token, ())
    _set_expiry(invocation, message.tokenUpdate, expiry)
    return message


def change_of_keys(invocation: Invocation, token: bytes, token_keys: Any) -> Any:
    message: Any = SchedulableTransactionBody()
    num = entity_id.num_of_long_zero(token_address(token)) or 0
    message.tokenUpdate.token.CopyFrom(_id(TokenID, "tokenNum", invocation.ledger.state.encoded(num)))
    _set_keys(invocation, message.tokenUpdate, token_keys)
    return message


def fee_limits(invocation: Invocation, token: bytes, first: Sequence[Any], second: Sequence[Any]) -> None:
    too_many = len(first) + len(second) > 10
    refuse_if(too_many, "CUSTOM_FEES_LIST_TOO_LONG", Refusal.COSTLY_TEXT)


def update_fungible_fees(invocation: Invocation, token: bytes, fixed: Any, fractional: Any) -> None:
    update_fees(invocation.ledger, token, _fees(invocation.ledger, fixed, fractional=fractional))


def update_unique_fees(invocation: Invocation, token: bytes, fixed: Any, royalty: Any) -> None:
    update_fees(invocation.ledger, token, _fees(invocation.ledger, fixed, royalty=royalty))


# ACCOUNTS, EXPIRY, KEYS


def _num(ledger: Overlay, address: bytes) -> int:
    """Return the id of an account, or of a long-zero address without one; 0 at other addresses."""
    account = ledger.account_id_at(address)
    if account is not None:
        return account
    num = entity_id.num_of_long_zero(address)
    encoded = 0 if not num else ledger.state.encoded(num)
    # The long-zero address of an account that has one of its own is not its address.
    return encoded if ledger.entity(encoded) is None else 0


def _account(ledger: Overlay, address: bytes) -> Any:
    return _id(AccountID, "accountNum", _num(ledger, address))


def _id(message: Any, field: str, encoded: int) -> Any:
    shard, realm, num = entity_id.decode(encoded)
    return message(shardNum=shard, realmNum=realm, **{field: num})


def _set_expiry(invocation: Invocation, body: Any, expiry: tuple[Any, ...]) -> None:
    second, auto_renew_account, auto_renew_period = expiry
    if second:
        body.expiry.seconds = second
    if any(auto_renew_account):
        body.autoRenewAccount.CopyFrom(_account(invocation.ledger, auto_renew_account))
    if auto_renew_period:
        body.autoRenewPeriod.seconds = auto_renew_period


def _set_keys(invocation: Invocation, body: Any, token_keys: Any) -> None:
    """A later key of a kind counts. Errors: InvalidArguments."""
    for kinds, value in token_keys:
        key = _key(invocation, *value)
        for bit, column in KINDS.items():
            if kinds & bit:
                getattr(body, KEYS[column][0]).CopyFrom(key)


def _key(
    invocation: Invocation, inherits: bool, contract: bytes, ed25519: bytes, ecdsa: bytes, delegatable: bytes
) -> Any:
    if [inherits, any(contract), bool(ed25519), bool(ecdsa), any(delegatable)].count(True) != 1:
        raise InvalidArguments("a key is not exactly one of its members")
    if inherits:
        return _key_of_sender(invocation)
    if any(contract):
        return Key(contractID=_contract(invocation.ledger, contract))
    if any(delegatable):
        return Key(delegatable_contract_id=_contract(invocation.ledger, delegatable))
    if len(ed25519) == _ED25519_LENGTH:
        return Key(ed25519=ed25519)
    if len(ecdsa) == _ECDSA_LENGTH:
        return Key(ECDSA_secp256k1=ecdsa)
    raise InvalidArguments("a public key has a wrong length")


def _key_of_sender(invocation: Invocation) -> Any:
    """A contract without a key of its own is named by its id; a key that can't be read is none."""
    sender = invocation.sender()
    if sender.key:
        return key_of(sender.key) or Key()
    return Key(contractID=_id(ContractID, "contractNum", sender.id)) if sender.type == "CONTRACT" else Key()


def _contract(ledger: Overlay, address: bytes) -> Any:
    num = _num(ledger, address)
    return _id(ContractID, "contractNum", num) if num else ContractID(evm_address=address)


# FEES


def _fees(
    ledger: Overlay, fixed: Iterable[Any], *, fractional: Iterable[Any] = (), royalty: Iterable[Any] = ()
) -> list[Any]:
    """Return CustomFee messages, from FixedFee, FractionalFee and RoyaltyFee of any version."""
    fees = []
    for amount, token, in_hbar, in_itself, collector in fixed:
        fee = _fixed(ledger, amount, token, in_hbar=in_hbar, in_itself=in_itself)
        fees.append(_fee(ledger, collector, fixed_fee=fee))
    for numerator, denominator, least, most, net_of_transfers, collector in fractional:
        terms = FractionalFee(minimum_amount=least, maximum_amount=most, net_of_transfers=net_of_transfers)
        terms.fractional_amount.numerator, terms.fractional_amount.denominator = numerator, denominator
        fees.append(_fee(ledger, collector, fractional_fee=terms))
    for numerator, denominator, amount, token, in_hbar, collector in royalty:
        terms = RoyaltyFee()
        fraction = terms.exchange_value_fraction
        fraction.numerator, fraction.denominator = numerator, denominator
        if amount > 0:
            fee = _fixed(ledger, amount, token, in_hbar=in_hbar, in_itself=False)
            terms.fallback_fee.CopyFrom(fee)
        fees.append(_fee(ledger, collector, royalty_fee=terms))
    return fees


def _fee(ledger: Overlay, collector: bytes, **kind: Any) -> Any:
    return CustomFee(fee_collector_account_id=_account(ledger, collector), **kind)


def _fixed(ledger: Overlay, amount: int, token: bytes, *, in_hbar: bool, in_itself: bool) -> Any:
    """Return a FixedFee, in the token itself with token 0.0.0. Errors: InvalidArguments."""
    if in_hbar + in_itself + any(token) != 1:
        raise InvalidArguments("a fee is not in exactly one of hbar, the token itself, a token")
    if in_hbar:
        return FixedFee(amount=amount)
    num = entity_id.num_of_long_zero(token_address(token)) or 0
    paid_in = TokenID() if in_itself else _id(TokenID, "tokenNum", ledger.state.encoded(num))
    return FixedFee(amount=amount, denominating_token_id=paid_in)
