"""The views of the token service that name a token: what it is, its keys and fees, who holds and may use it.

They begin with a response code. Those of allowances and approvals revert instead, as an ERC function does.
"""

from web3sim.operations.refusals import Refused
from web3sim.state.tables.interface import Relationship, Token
from web3sim.system_contracts.abi import address_at, encoded, number_at, word_of
from web3sim.system_contracts.functions import SUCCESS, SUCCESS_CODE, Function, Handler, Invocation
from web3sim.system_contracts.token_service.erc import views
from web3sim.system_contracts.token_service.info import (
    accounts_of,
    expiry,
    fee_structs,
    key_value,
    nft_info,
    no_token_info,
    token_info,
)
from web3sim.system_contracts.token_service.keys import KINDS

# Statuses of freeze and KYC.
_FROZEN = _GRANTED = 1
_REVOKED = 2
# An int32; the ledger counts up to twice that.
_MOST_DECIMALS = 2**31 - 1


def _token(invocation: Invocation) -> Token:
    """The token of the first argument. Errors: Refused, InvalidArguments."""
    return invocation.token(address_at(invocation.arguments, 0))


# OF THE TOKEN


def _is_token(invocation: Invocation) -> bytes:
    token = invocation.ledger.token_at(address_at(invocation.arguments, 0))
    return SUCCESS + word_of(token is not None)


def _token_type(invocation: Invocation) -> bytes:
    return SUCCESS + word_of(_token(invocation).unique)


def _default_freeze_status(invocation: Invocation) -> bytes:
    return SUCCESS + word_of(_token(invocation).freeze_default)


def _default_kyc_status(invocation: Invocation) -> bytes:
    return SUCCESS + word_of(_token(invocation).kyc_status == _GRANTED)


def _expiry_info(invocation: Invocation) -> bytes:
    return encoded(invocation.function.results, (SUCCESS_CODE, expiry(_token(invocation))))


def _token_key(invocation: Invocation) -> bytes:
    bit = number_at(invocation.arguments, 1)
    token = _token(invocation)
    value = key_value(getattr(token, KINDS[bit])) if bit in KINDS else None
    if value is None:
        raise Refused("KEY_NOT_PROVIDED")
    return encoded(invocation.function.results, (SUCCESS_CODE, value))


# OF A RELATIONSHIP


def _relationship(invocation: Invocation) -> tuple[Token, Relationship | None]:
    """The token, and its relationship with the account of the second argument. Errors: Refused."""
    account_address = address_at(invocation.arguments, 1)
    token = _token(invocation)
    account = invocation.account(account_address)
    return token, invocation.ledger.relationship(token, account.id)


def _is_frozen(invocation: Invocation) -> bytes:
    token, relationship = _relationship(invocation)
    if relationship is None:
        return SUCCESS + word_of(False)
    status = relationship.freeze_status
    return SUCCESS + word_of((token.freeze_status if status is None else status) == _FROZEN)


def _is_kyc(invocation: Invocation) -> bytes:
    """Without a KYC key every associated account has KYC."""
    token, relationship = _relationship(invocation)
    if relationship is None:
        return SUCCESS + word_of(False)
    status = relationship.kyc_status
    return SUCCESS + word_of((token.kyc_status if status is None else status) != _REVOKED)


def _is_associated(invocation: Invocation) -> bytes:
    """Of the caller, with the token that was called; never with one that is not known."""
    ledger = invocation.ledger
    assert invocation.target is not None
    token = ledger.token_at(invocation.target)
    account = None if token is None else ledger.account_id_at(invocation.call.sender)
    if token is None or account is None:
        return word_of(False)
    return word_of(ledger.relationship(token, account) is not None)


# STRUCTS


def _loaded(invocation: Invocation, serial_number: int | None = None) -> Token:
    """Read the token of the first argument and the rest of its structs. Errors: Refused, InvalidArguments."""
    ledger = invocation.ledger
    ledger.load_token(address_at(invocation.arguments, 0), serial_number)
    token = _token(invocation)
    nft = None if serial_number is None else ledger.nft(token.id, serial_number)
    ledger.load_accounts(accounts_of(token, ledger.custom_fees(token.id), nft))
    return token


def _token_info(invocation: Invocation) -> bytes:
    info = token_info(invocation.ledger, _loaded(invocation))
    return encoded(invocation.function.results, (SUCCESS_CODE, info))


def _fungible_info(invocation: Invocation) -> bytes:
    token = _loaded(invocation)
    if token.unique:
        raise Refused("INVALID_TOKEN_ID")
    info = token_info(invocation.ledger, token)
    return encoded(invocation.function.results, (SUCCESS_CODE, (info, min(token.decimals, _MOST_DECIMALS))))


def _non_fungible_info(invocation: Invocation) -> bytes:
    _, serial_number = invocation.decoded()
    token = _loaded(invocation, serial_number)
    nft = invocation.ledger.nft(token.id, serial_number) if token.unique else None
    if nft is None:
        raise Refused("INVALID_TOKEN_NFT_SERIAL_NUMBER")
    info = (token_info(invocation.ledger, token), *nft_info(invocation.ledger, token, serial_number, nft))
    return encoded(invocation.function.results, (SUCCESS_CODE, info))


def _custom_fees(invocation: Invocation) -> bytes:
    token, ledger = _loaded(invocation), invocation.ledger
    fees = fee_structs(ledger, ledger.custom_fees(token.id))
    return encoded(invocation.function.results, (SUCCESS_CODE, *fees))


# ALLOWANCES


def _allowance(invocation: Invocation) -> bytes:
    token = _token(invocation)
    if token.unique and not invocation.call.static:
        return SUCCESS
    return SUCCESS + views.allowance(invocation, token, first=1)


def _of_token(answer: views.OfToken) -> Handler:
    """Return a function of a token's own for the token of the first argument; others follow."""
    return lambda invocation: SUCCESS + answer(invocation, _token(invocation), first=1)


FUNCTIONS = (
    Function("isToken(address)", _is_token, "(int64,bool)"),
    Function("getTokenType(address)", _token_type, "(int64,int32)"),
    Function("isFrozen(address,address)", _is_frozen, "(int64,bool)"),
    Function("isKyc(address,address)", _is_kyc, "(int64,bool)"),
    Function("getTokenDefaultFreezeStatus(address)", _default_freeze_status, "(int64,bool)"),
    Function("getTokenDefaultKycStatus(address)", _default_kyc_status, "(int64,bool)"),
    Function("getTokenExpiryInfo(address)", _expiry_info, "(int64,ExpiryV2)"),
    Function("getTokenKey(address,uint256)", _token_key, "(int64,KeyValue)"),
    Function("getTokenInfo(address)", _token_info, "(int64,TokenInfoV1)", nothing=lambda: (no_token_info(),)),
    Function(
        "getFungibleTokenInfo(address)",
        _fungible_info,
        "(int64,(TokenInfoV1,int32))",
        nothing=lambda: ((no_token_info(), 0),),
    ),
    Function(
        "getNonFungibleTokenInfo(address,int64)",
        _non_fungible_info,
        "(int64,(TokenInfoV1,int64,address,int64,bytes,address))",
        nothing=lambda: ((no_token_info(), 0, bytes(20), 0, b"", bytes(20)),),
    ),
    Function("getTokenCustomFees(address)", _custom_fees, "(int64,CustomFeesV2)"),
    Function("allowance(address,address,address)", _allowance, "(int64,uint256)", tells_code=False),
    Function(
        "getApproved(address,uint256)", _of_token(views.get_approved), "(int64,address)", tells_code=False
    ),
    Function(
        "isApprovedForAll(address,address,address)",
        _of_token(views.is_approved_for_all),
        "(int64,bool)",
        tells_code=False,
    ),
)
PROXY_FUNCTIONS = (Function("isAssociated()", _is_associated, "(bool)", tells_code=False),)
