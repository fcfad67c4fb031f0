"""What functions refuse, by the codes that the network gives for it."""

from typing import Any, NamedTuple

from mirror.demo.streams.record_files import account
from tests.tokens.compose import KEY, TokenStream, token
from tests.web3sim.system_contracts.ingested.case import NOBODY, A, Case, Happening, T, happens
from tests.web3sim.system_contracts.ingested.entities import STRUCT
from tests.web3sim.system_contracts.ingested.moves import ALLOW_UNITS
from tests.web3sim.system_contracts.ingested.numbers import (
    FRESH,
    HOLDER,
    NEW,
    OTHER,
    OWNER,
    PLAIN,
    SERIALS,
    STRANGER,
    UNITS,
)
from web3sim.state.proxy_code import ACCOUNT_SERVICE, SCHEDULE_SERVICE

UNKNOWN = T(99_999_999)
CODE, WORD, TEXT = "a code", "a revert with a code as a word", "a revert with the name of a code"


class Rejection(NamedTuple):
    """`form` is how the code is told; in a static call a view tells as text what it answers otherwise."""

    case: Case
    code: str
    form: str = CODE
    view: bool = False


def _of(signature: str, *arguments: Any, prepare: Happening | None = None, **options: Any) -> Case:
    return Case(signature, arguments, lambda _: None, prepare, **options)


def _of_token(signature: str, *arguments: Any, target: int, prepare: Happening | None = None) -> Case:
    return Case(signature, arguments, lambda _: None, prepare, target)


_STATUS = {"account": account(OTHER), "token": token(UNITS)}
_TRANSFER, _FROM = (
    "transferToken(address,address,address,int64)",
    "transferFrom(address,address,address,uint256)",
)
_MINT = "mintToken(address,int64,bytes[])"


def _moves(amount: int = 10, *, receiver: bytes = A(OTHER), prepare: Happening | None = None) -> Case:
    return _of(_TRANSFER, T(UNITS), A(HOLDER), receiver, amount, prepare=prepare)


def _finite(made: TokenStream) -> None:
    made.create(NEW, treasury=OWNER, supply=5, supplyType="FINITE", maxSupply=5, supplyKey=KEY)


VIEWS = [
    *(
        Rejection(_of(f"{name}(address)", UNKNOWN), "INVALID_TOKEN_ID", view=True)
        for name in (
            *("getTokenType", "getTokenDefaultFreezeStatus", "getTokenDefaultKycStatus"),
            *("getTokenExpiryInfo", "getTokenInfo", "getFungibleTokenInfo", "getTokenCustomFees"),
        )
    ),
    *(
        Rejection(_of(f"{name}(address,address)", *arguments), code, view=True)
        for name in ("isFrozen", "isKyc")
        for arguments, code in (
            ((UNKNOWN, A(HOLDER)), "INVALID_TOKEN_ID"),
            ((T(UNITS), UNKNOWN), "INVALID_ACCOUNT_ID"),
        )
    ),
    Rejection(_of("getTokenKey(address,uint256)", T(UNITS), 3), "KEY_NOT_PROVIDED", view=True),
    Rejection(
        _of("getNonFungibleTokenInfo(address,int64)", T(SERIALS), 9),
        "INVALID_TOKEN_NFT_SERIAL_NUMBER",
        view=True,
    ),
    Rejection(
        _of("getApproved(address,uint256)", T(SERIALS), 9), "INVALID_TOKEN_NFT_SERIAL_NUMBER", TEXT, view=True
    ),
    Rejection(
        _of("hbarAllowance(address,address)", UNKNOWN, A(HOLDER), service=ACCOUNT_SERVICE),
        "INVALID_ALLOWANCE_OWNER_ID",
        TEXT,
        view=True,
    ),
    Rejection(_of_token("balanceOf(address)", UNKNOWN, target=UNITS), "INVALID_ACCOUNT_ID", TEXT, view=True),
    Rejection(
        _of_token("getApproved(uint256)", 9, target=SERIALS),
        "INVALID_TOKEN_NFT_SERIAL_NUMBER",
        TEXT,
        view=True,
    ),
    Rejection(
        _of_token("ownerOf(uint256)", 9, target=SERIALS), "INVALID_TOKEN_NFT_SERIAL_NUMBER", WORD, view=True
    ),
]

CHANGES = [
    Rejection(_of("createNonFungibleToken(HederaTokenV3)", STRUCT), "INSUFFICIENT_TX_FEE"),
    Rejection(_of("associateToken(address,address)", UNKNOWN, T(FRESH)), "INVALID_ACCOUNT_ID"),
    Rejection(_of("associateToken(address,address)", A(HOLDER), UNKNOWN), "INVALID_TOKEN_ID"),
    Rejection(
        _of("associateToken(address,address)", A(HOLDER), T(UNITS)), "TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT"
    ),
    Rejection(_of("freezeToken(address,address)", T(UNITS), A(STRANGER)), "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
    Rejection(_moves(prepare=happens("tokenFreeze", **_STATUS)), "ACCOUNT_FROZEN_FOR_TOKEN"),
    Rejection(_moves(prepare=happens("tokenRevokeKyc", **_STATUS)), "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"),
    Rejection(_moves(prepare=happens("token_pause", token=token(UNITS))), "TOKEN_IS_PAUSED"),
    Rejection(_moves(10_000), "INSUFFICIENT_TOKEN_BALANCE"),
    Rejection(_moves(receiver=UNKNOWN), "INVALID_ALIAS_KEY"),
    Rejection(_of(_MINT, T(PLAIN), 5, []), "TOKEN_HAS_NO_SUPPLY_KEY"),
    Rejection(_of(_MINT, T(NEW), 1, [], prepare=_finite), "TOKEN_MAX_SUPPLY_REACHED"),
    Rejection(_of("burnToken(address,int64,int64[])", T(SERIALS), 0, [9]), "INVALID_NFT_ID"),
    Rejection(
        _of("transferNFT(address,address,address,int64)", T(SERIALS), A(HOLDER), A(OTHER), 2),
        "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO",
    ),
    Rejection(_of(_FROM, T(UNITS), A(OWNER), A(OTHER), 25), "SPENDER_DOES_NOT_HAVE_ALLOWANCE"),
    Rejection(_of(_FROM, T(UNITS), A(OWNER), A(OTHER), 60, prepare=ALLOW_UNITS), "AMOUNT_EXCEEDS_ALLOWANCE"),
    Rejection(
        _of("approve(address,address,uint256)", T(UNITS), NOBODY, 5), "INVALID_ALLOWANCE_SPENDER_ID", WORD
    ),
    Rejection(
        _of("approveNFT(address,address,uint256)", T(SERIALS), A(OTHER), 9),
        "INVALID_TOKEN_NFT_SERIAL_NUMBER",
        WORD,
    ),
    Rejection(
        _of("authorizeSchedule(address)", UNKNOWN, service=SCHEDULE_SERVICE), "INVALID_SCHEDULE_ID", TEXT
    ),
    Rejection(
        _of_token("transfer(address,uint256)", A(OTHER), 10_000, target=UNITS),
        "INSUFFICIENT_TOKEN_BALANCE",
        WORD,
    ),
    Rejection(
        _of_token("transferFrom(address,address,uint256)", A(OWNER), A(OTHER), 1, target=UNITS),
        "SPENDER_DOES_NOT_HAVE_ALLOWANCE",
        WORD,
    ),
    Rejection(_of_token("associate()", target=UNITS), "TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT"),
]
