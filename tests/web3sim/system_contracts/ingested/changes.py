"""Relationships, tokens as a whole, and approvals: calls, and the transactions that do the same."""

from typing import Any

from mirror.core.values.hapi.messages import Key
from mirror.demo.streams.record_files import account
from tests.tokens.compose import token, units
from tests.web3sim.system_contracts.ingested.case import NOBODY, A, Case, T, happens
from tests.web3sim.system_contracts.ingested.numbers import (
    FRESH,
    HOLDER,
    OTHER,
    OWNER,
    PLAIN,
    SERIALS,
    STRANGER,
    UNITS,
)

OTHER_KEY = Key(ed25519=bytes(32))
status = {"account": account(OTHER), "token": token(UNITS)}
struct_keys = [(2, (False, NOBODY, bytes(32), b"", NOBODY))]
unchanged: tuple[Any, ...] = ("", "", NOBODY, "", False, 0, False, [], (0, NOBODY, 0))


def changed(**members: Any) -> tuple[Any, ...]:
    names = ("name", "symbol", "treasury", "memo", "finite", "max", "frozen", "keys", "expiry")
    return tuple((dict(zip(names, unchanged, strict=True)) | members).values())


CHANGES: list[Case] = [
    # RELATIONSHIPS
    Case(
        "associateToken(address,address)",
        (A(HOLDER), T(FRESH)),
        lambda made: made.associate(HOLDER, FRESH),
    ),
    Case(
        "associateTokens(address,address[])",
        (A(STRANGER), [T(UNITS), T(FRESH)]),
        lambda made: made.associate(STRANGER, UNITS, FRESH),
    ),
    Case("associate()", (), lambda made: made.associate(HOLDER, FRESH), target=FRESH),
    Case(
        "dissociateToken(address,address)",
        (A(OTHER), T(PLAIN)),
        happens("tokenDissociate", account=account(OTHER), tokens=[token(PLAIN)]),
    ),
    Case(
        "dissociateTokens(address,address[])",
        (A(OTHER), [T(PLAIN), T(UNITS)]),
        happens("tokenDissociate", account=account(OTHER), tokens=[token(PLAIN), token(UNITS)]),
    ),
    Case(
        "dissociate()",
        (),
        happens("tokenDissociate", account=account(OTHER), tokens=[token(PLAIN)]),
        target=PLAIN,
        sender=OTHER,
    ),
    Case("freezeToken(address,address)", (T(UNITS), A(OTHER)), happens("tokenFreeze", **status)),
    Case(
        "unfreezeToken(address,address)",
        (T(UNITS), A(OTHER)),
        happens("tokenUnfreeze", **status),
        happens("tokenFreeze", **status),
    ),
    Case("revokeTokenKyc(address,address)", (T(UNITS), A(OTHER)), happens("tokenRevokeKyc", **status)),
    Case(
        "grantTokenKyc(address,address)",
        (T(UNITS), A(OTHER)),
        happens("tokenGrantKyc", **status),
        happens("tokenRevokeKyc", **status),
    ),
    # TOKENS
    Case("pauseToken(address)", (T(UNITS),), happens("token_pause", token=token(UNITS))),
    Case(
        "unpauseToken(address)",
        (T(UNITS),),
        happens("token_unpause", token=token(UNITS)),
        happens("token_pause", token=token(UNITS)),
    ),
    Case("deleteToken(address)", (T(UNITS),), happens("tokenDeletion", token=token(UNITS))),
    Case(
        "updateTokenInfo(address,HederaTokenV3)",
        (T(UNITS), changed(name="New", memo="m", keys=struct_keys)),
        happens(
            "tokenUpdate",
            token=token(UNITS),
            name="New",
            memo={"value": "m"},
            kycKey=OTHER_KEY,
        ),
    ),
    Case(
        "updateTokenInfo(address,HederaTokenV3)",
        (T(UNITS), changed(treasury=A(OTHER))),
        happens(
            "tokenUpdate",
            units(UNITS, {OWNER: -900, OTHER: 900}),
            token=token(UNITS),
            treasury=account(OTHER),
        ),
    ),
    Case(
        "updateTokenKeys(address,TokenKey[])",
        (T(SERIALS), struct_keys),
        happens("tokenUpdate", token=token(SERIALS), kycKey=OTHER_KEY),
    ),
    Case(
        "updateTokenExpiryInfo(address,ExpiryV2)",
        (T(UNITS), (0, A(OTHER), 7_000_000)),
        happens(
            "tokenUpdate",
            token=token(UNITS),
            autoRenewAccount=account(OTHER),
            autoRenewPeriod={"seconds": 7_000_000},
        ),
    ),
    Case(
        "updateFungibleTokenCustomFees(address,FixedFeeV2[],FractionalFeeV2[])",
        (T(UNITS), [(5, NOBODY, False, True, A(OTHER))], [(1, 10, 2, 0, True, A(OWNER))]),
        happens(
            "token_fee_schedule_update",
            token_id=token(UNITS),
            custom_fees=[
                {
                    "fee_collector_account_id": account(OTHER),
                    "fixed_fee": {"amount": 5, "denominating_token_id": token(UNITS)},
                },
                {
                    "fee_collector_account_id": account(OWNER),
                    "fractional_fee": {
                        "fractional_amount": {"numerator": 1, "denominator": 10},
                        "minimum_amount": 2,
                        "net_of_transfers": True,
                    },
                },
            ],
        ),
    ),
    Case(
        "updateNonFungibleTokenCustomFees(address,FixedFeeV2[],RoyaltyFeeV2[])",
        (T(SERIALS), [], [(1, 10, 7, NOBODY, True, A(OTHER))]),
        happens(
            "token_fee_schedule_update",
            token_id=token(SERIALS),
            custom_fees=[
                {
                    "fee_collector_account_id": account(OTHER),
                    "royalty_fee": {
                        "exchange_value_fraction": {"numerator": 1, "denominator": 10},
                        "fallback_fee": {"amount": 7},
                    },
                }
            ],
        ),
    ),
]

APPROVALS: list[Case] = [
    Case(
        "approve(address,address,uint256)",
        (T(UNITS), A(OTHER), 40),
        happens(
            "cryptoApproveAllowance",
            tokenAllowances=[
                {"tokenId": token(UNITS), "owner": account(HOLDER), "spender": account(OTHER), "amount": 40}
            ],
        ),
    ),
    Case(
        "setApprovalForAll(address,address,bool)",
        (T(SERIALS), A(OTHER), True),
        happens(
            "cryptoApproveAllowance",
            nftAllowances=[
                {
                    "tokenId": token(SERIALS),
                    "owner": account(HOLDER),
                    "spender": account(OTHER),
                    "approved_for_all": {"value": True},
                }
            ],
        ),
    ),
    Case(
        "approveNFT(address,address,uint256)",
        (T(SERIALS), A(OTHER), 1),
        happens(
            "cryptoApproveAllowance",
            nftAllowances=[
                {
                    "tokenId": token(SERIALS),
                    "owner": account(HOLDER),
                    "spender": account(OTHER),
                    "serial_numbers": [1],
                }
            ],
        ),
    ),
    Case(
        "approve(address,uint256)",
        (A(OTHER), 40),
        happens(
            "cryptoApproveAllowance",
            tokenAllowances=[
                {"tokenId": token(UNITS), "owner": account(HOLDER), "spender": account(OTHER), "amount": 40}
            ],
        ),
        target=UNITS,
    ),
    Case(
        "setApprovalForAll(address,bool)",
        (A(OTHER), True),
        happens(
            "cryptoApproveAllowance",
            nftAllowances=[
                {
                    "tokenId": token(SERIALS),
                    "owner": account(HOLDER),
                    "spender": account(OTHER),
                    "approved_for_all": {"value": True},
                }
            ],
        ),
        target=SERIALS,
    ),
]
