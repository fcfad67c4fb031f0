"""Creating tokens: twelve functions, by type, with or without custom fees, in three versions of the structs.

The value that comes with a call pays the fee; the rest is returned to the caller.
"""

from collections.abc import Callable
from typing import Any

from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.operations import prices
from web3sim.operations.refusals import Refused
from web3sim.operations.tokens.create import NewToken, create_token
from web3sim.state.tables.interface import CustomFees
from web3sim.system_contracts.abi import word_of_address
from web3sim.system_contracts.functions import SUCCESS, Function, Invocation
from web3sim.system_contracts.token_service.fees import FeeArguments
from web3sim.system_contracts.token_service.keys import keys_of

GAS = 100_000
_FEE_COLLECTOR_NUM = 98


def _price(*, custom_fees: bool) -> int:
    return prices.TOKEN_CREATE_WITH_FEES if custom_fees else prices.TOKEN_CREATE


def _fee(invocation: Invocation, price: int) -> int:
    """The tinybars that a call has to bring: the fee with a fifth on it, without what its gas pays."""
    fee = invocation.prices.tinybars(price)
    return max(fee + fee // 5 - GAS * invocation.prices.gas, 0)


def _take_fee(invocation: Invocation, price: int) -> None:
    """Errors: Refused."""
    call, ledger = invocation.call, invocation.ledger
    fee = _fee(invocation, price)
    if call.value < fee:
        raise Refused("INSUFFICIENT_TX_FEE")
    ledger.journal.set_balance(call.sender, ledger.journal.get_balance(call.sender) - fee)
    ledger.add_hbar(ledger.state.encoded(_FEE_COLLECTOR_NUM), fee)


def _created(invocation: Invocation) -> bytes:
    new = new_token(invocation)
    _take_fee(invocation, _price(custom_fees=new.fees != CustomFees()))
    now = invocation.ledger.state.block.consensus_start // NANOS_PER_SECOND
    try:
        token = create_token(invocation.ledger, invocation.signers, new, now)
    except Refused as refused:
        raise Refused(refused.code, as_word=True, reverts=True) from None
    return SUCCESS + word_of_address(invocation.ledger.address_of(token.id))


def new_token(invocation: Invocation) -> NewToken:
    """Return the token that a call of one of these functions describes. Errors: Refused, InvalidArguments."""
    return _TOKENS[invocation.function.signature](invocation)


def _new_token(invocation: Invocation, struct: tuple[Any, ...], **others: Any) -> NewToken:
    """From a HederaToken, of any version. Errors: Refused."""
    name, symbol, treasury, memo, finite, max_supply, freeze_default, token_keys, expiry = struct
    second, auto_renew_account, auto_renew_period = expiry
    ledger = invocation.ledger
    if not symbol:
        raise Refused("MISSING_TOKEN_SYMBOL")
    holder = ledger.account_at(treasury)
    if holder is None:
        raise Refused("INVALID_ACCOUNT_ID")
    renewer = ledger.account_at(auto_renew_account) if any(auto_renew_account) else None
    if renewer is None and (any(auto_renew_account) or not second):
        raise Refused("INVALID_EXPIRATION_TIME")
    return NewToken(
        name,
        symbol,
        holder,
        memo,
        finite=finite,
        max_supply=max_supply,
        freeze_default=freeze_default,
        keys=keys_of(invocation, token_keys),
        expires=second,
        auto_renew_account=renewer,
        auto_renew_period=auto_renew_period,
        **others,
    )


def _fungible(invocation: Invocation) -> NewToken:
    struct, supply, decimals = invocation.decoded()
    return _new_token(invocation, struct, initial_supply=supply, decimals=decimals)


def _fungible_with_fees(invocation: Invocation) -> NewToken:
    struct, supply, decimals, fixed, fractional = invocation.decoded()
    fees = FeeArguments(invocation.ledger).fees(fixed, fractional)
    return _new_token(invocation, struct, initial_supply=supply, decimals=decimals, fees=fees)


def _unique(invocation: Invocation) -> NewToken:
    (struct,) = invocation.decoded()
    return _new_token(invocation, struct, unique=True)


def _unique_with_fees(invocation: Invocation) -> NewToken:
    struct, fixed, royalty = invocation.decoded()
    fees = FeeArguments(invocation.ledger).fees(fixed, royalty=royalty)
    return _new_token(invocation, struct, unique=True, fees=fees)


_TOKENS: dict[str, Callable[[Invocation], NewToken]] = {
    "createFungibleToken(HederaTokenV1,uint256,uint256)": _fungible,
    "createFungibleToken(HederaTokenV2,uint64,uint32)": _fungible,
    "createFungibleToken(HederaTokenV3,int64,int32)": _fungible,
    "createFungibleTokenWithCustomFees(HederaTokenV1,uint256,uint256,FixedFeeV1[],FractionalFeeV1[])": (
        _fungible_with_fees
    ),
    "createFungibleTokenWithCustomFees(HederaTokenV2,uint64,uint32,FixedFeeV1[],FractionalFeeV1[])": (
        _fungible_with_fees
    ),
    "createFungibleTokenWithCustomFees(HederaTokenV3,int64,int32,FixedFeeV2[],FractionalFeeV2[])": (
        _fungible_with_fees
    ),
    "createNonFungibleToken(HederaTokenV1)": _unique,
    "createNonFungibleToken(HederaTokenV2)": _unique,
    "createNonFungibleToken(HederaTokenV3)": _unique,
    "createNonFungibleTokenWithCustomFees(HederaTokenV1,FixedFeeV1[],RoyaltyFeeV1[])": _unique_with_fees,
    "createNonFungibleTokenWithCustomFees(HederaTokenV2,FixedFeeV1[],RoyaltyFeeV1[])": _unique_with_fees,
    "createNonFungibleTokenWithCustomFees(HederaTokenV3,FixedFeeV2[],RoyaltyFeeV2[])": _unique_with_fees,
}


def _gas(invocation: Invocation) -> int:
    return GAS


FUNCTIONS = tuple(
    Function(signature, _created, "(int64,address)", _gas, writes=True) for signature in _TOKENS
)
