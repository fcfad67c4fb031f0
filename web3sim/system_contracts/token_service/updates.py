"""Changing tokens: their names, treasury, keys, expiry and custom fees."""

from collections.abc import Callable
from typing import Any

from web3sim.operations.prices import TOKEN_OPERATION
from web3sim.operations.refusals import Refused
from web3sim.operations.tokens.update import TokenChange, update_fees, update_token
from web3sim.state.tables.interface import Entity, Token
from web3sim.system_contracts.functions import SUCCESS, Function, Invocation, costs
from web3sim.system_contracts.token_service.fees import FeeArguments
from web3sim.system_contracts.token_service.keys import keys_of


def _account(invocation: Invocation, address: bytes, code: str) -> Entity | None:
    """Return the account at an address; None at the zero address. Errors: Refused."""
    return invocation.account(address, code) if any(address) else None


def _expiry(invocation: Invocation, expiry: tuple[Any, ...]) -> dict[str, Any]:
    """Errors: Refused."""
    second, auto_renew_account, auto_renew_period = expiry
    return {
        "expires": second,
        "auto_renew_account": _account(invocation, auto_renew_account, "INVALID_AUTORENEW_ACCOUNT"),
        "auto_renew_period": auto_renew_period,
    }


def _updated(invocation: Invocation) -> bytes:
    token, change = token_change(invocation)
    update_token(invocation.ledger, invocation.signers, token, change)
    return SUCCESS


def token_change(invocation: Invocation) -> tuple[Token, TokenChange]:
    """Return the change that a call describes. Errors: Refused, InvalidArguments."""
    return _CHANGES[invocation.function.signature](invocation)


def _info(invocation: Invocation) -> tuple[Token, TokenChange]:
    """Supply and freeze default of the struct are not changed."""
    address, struct = invocation.decoded()
    name, symbol, treasury, memo, _, _, _, token_keys, expiry = struct
    return invocation.token(address), TokenChange(
        name=name,
        symbol=symbol,
        memo=memo,
        treasury=_account(invocation, treasury, "INVALID_TREASURY_ACCOUNT_FOR_TOKEN"),
        keys=keys_of(invocation, token_keys),
        **_expiry(invocation, expiry),
    )


def _expiry_info(invocation: Invocation) -> tuple[Token, TokenChange]:
    address, expiry = invocation.decoded()
    return invocation.token(address), TokenChange(**_expiry(invocation, expiry))


def _keys(invocation: Invocation) -> tuple[Token, TokenChange]:
    address, token_keys = invocation.decoded()
    return invocation.token(address), TokenChange(keys=keys_of(invocation, token_keys))


def _fungible_fees(invocation: Invocation) -> bytes:
    address, fixed, fractional = invocation.decoded()
    return _fees(invocation, address, unique=False, fixed=fixed, fractional=fractional)


def _unique_fees(invocation: Invocation) -> bytes:
    address, fixed, royalty = invocation.decoded()
    return _fees(invocation, address, unique=True, fixed=fixed, royalty=royalty)


def _fees(invocation: Invocation, address: bytes, *, unique: bool, **fees: Any) -> bytes:
    token = invocation.token(address)
    if token.unique is not unique:
        raise Refused("INVALID_TOKEN_ID")
    custom_fees = FeeArguments(invocation.ledger, token.id).fees(**fees)
    update_fees(invocation.ledger, invocation.signers, token, custom_fees)
    return SUCCESS


_GAS = costs(TOKEN_OPERATION)

_CHANGES: dict[str, Callable[[Invocation], tuple[Token, TokenChange]]] = {
    "updateTokenInfo(address,HederaTokenV1)": _info,
    "updateTokenInfo(address,HederaTokenV2)": _info,
    "updateTokenInfo(address,HederaTokenV3)": _info,
    "updateTokenExpiryInfo(address,ExpiryV1)": _expiry_info,
    "updateTokenExpiryInfo(address,ExpiryV2)": _expiry_info,
    "updateTokenKeys(address,TokenKey[])": _keys,
}

#: Those that may be scheduled.
CHANGES = tuple(Function(signature, _updated, gas=_GAS, writes=True) for signature in _CHANGES)
FUNCTIONS = (
    *CHANGES,
    Function(
        "updateFungibleTokenCustomFees(address,FixedFeeV2[],FractionalFeeV2[])",
        _fungible_fees,
        gas=_GAS,
        writes=True,
    ),
    Function(
        "updateNonFungibleTokenCustomFees(address,FixedFeeV2[],RoyaltyFeeV2[])",
        _unique_fees,
        gas=_GAS,
        writes=True,
    ),
)
