"""The table of the token service, 0x167, and of tokens at their own addresses.

A row has signature, operation, types returned and gas; then what differs from the rule: a refused operation
answers its code, a refused view in a static frame or at the token's address reverts with the name of the
code. Functions of a token have its address as their first argument.
"""

from collections.abc import Callable
from typing import Any

from web3sim.operations.prices import AIRDROP, APPROVE, ASSOCIATE, MINT_NFT, TOKEN_OPERATION
from web3sim.operations.rejections import Rejection
from web3sim.operations.tokens import status, supply
from web3sim.operations.tokens.airdrops import cancel, claim
from web3sim.operations.tokens.reject import reject
from web3sim.system_contracts.abi import int64_of
from web3sim.system_contracts.function_signatures import selector_of
from web3sim.system_contracts.functions import (
    Function,
    Gas,
    Invocation,
    Operation,
    by_selector,
    costs,
    flat,
    same_columns,
)
from web3sim.system_contracts.token_service import approvals, bodies, transfers, views
from web3sim.system_contracts.token_service.info import no_token_info
from web3sim.system_contracts.token_service.views import token_view


def _on_ledger(operation: Callable[..., Any]) -> Operation:
    """Return the function of an operation that takes the ledger and the arguments as they are."""
    return lambda invocation, *arguments: operation(invocation.ledger, *arguments)


# GAS, and what is written

_ASSOCIATE, _APPROVE = costs(ASSOCIATE), costs(APPROVE)
_BY_TOKENS = costs(ASSOCIATE, lambda account, tokens: len(tokens), "token")
_BY_ENTRY = costs(TOKEN_OPERATION, lambda owner, tokens, nfts: len(tokens) + len(nfts), "entry")
# What is charged depends on the ledger before the transfer.
_BY_OPERATION = flat(0, "by what is transferred")
_WRITE: Any = {"gas": costs(TOKEN_OPERATION), "writes": True}
_DIRECT_WRITE = _WRITE | {"only_direct": True}


# SUPPLY AND STATUS


def _mint(invocation: Invocation, token: bytes, amount: int, metadata: Any) -> Any:
    return supply.mint(invocation.ledger, token, int64_of(amount), metadata)


def _burn(invocation: Invocation, token: bytes, amount: int, serial_numbers: Any) -> int:
    return supply.burn(invocation.ledger, token, int64_of(amount), serial_numbers)


def _minting(invocation: Invocation) -> int:
    """The gas of a mint: of each serial, or of units."""
    *_, metadata = invocation.arguments
    return invocation.prices.gas_of(len(metadata) * MINT_NFT or TOKEN_OPERATION)


_MINTING = Gas(_minting, f"{costs(TOKEN_OPERATION).text}; {costs(MINT_NFT).text} for each serial")
_MINT = _WRITE | {"returns": "(int64,int64,int64[])", "gas": _MINTING}
_SUPPLY_AND_STATUS = (
    *same_columns({f"mintToken(address,{kind},bytes[])": _mint for kind in ("uint64", "int64")}, **_MINT),
    *same_columns(
        {f"burnToken(address,{kind},int64[])": _burn for kind in ("uint64", "int64")},
        **_WRITE | {"returns": "(int64,int64)"},
    ),
    *same_columns(
        {
            signature: _on_ledger(operation)
            for signature, operation in (
                ("wipeTokenAccount(address,address,uint32)", supply.wipe),
                ("wipeTokenAccount(address,address,int64)", supply.wipe),
                ("wipeTokenAccountNFT(address,address,int64[])", supply.wipe_nfts),
                ("freezeToken(address,address)", status.freeze),
                ("unfreezeToken(address,address)", status.unfreeze),
                ("grantTokenKyc(address,address)", status.grant_kyc),
                ("revokeTokenKyc(address,address)", status.revoke_kyc),
                ("pauseToken(address)", status.pause),
                ("unpauseToken(address)", status.unpause),
                ("deleteToken(address)", status.delete),
            )
        },
        **_WRITE,
    ),
)


# ASSOCIATIONS


def _on_token_list(operation: Callable[..., None]) -> Operation:
    return lambda invocation, account, tokens: operation(
        invocation.ledger, account, tokens, invocation.sender_id
    )


def _on_token(operation: Callable[..., None]) -> Operation:
    return lambda invocation, account, token: _on_token_list(operation)(invocation, account, [token])


def _on_called_token(operation: Callable[..., None]) -> Operation:
    def function(invocation: Invocation, token: bytes) -> None:
        transfers.called_token(invocation, token)
        _on_token(operation)(invocation, invocation.call.sender, token)

    return function


_ASSOCIATIONS = (
    *same_columns(
        {
            "associateToken(address,address)": _on_token(status.associate),
            "dissociateToken(address,address)": _on_token(status.dissociate),
            "dissociateTokens(address,address[])": _on_token_list(status.dissociate),
        },
        **_DIRECT_WRITE | {"gas": _ASSOCIATE},
    ),
    Function(
        "associateTokens(address,address[])",
        _on_token_list(status.associate),
        **_DIRECT_WRITE | {"gas": _BY_TOKENS},
    ),
)


# TRANSFERS, APPROVALS AND AIRDROPS

_APPROVAL = _WRITE | {"gas": _APPROVE, "rejection": Rejection.WORD}
_TRANSFERS = (
    *same_columns(
        {
            "cryptoTransfer(TokenTransferListV1[])": transfers.crypto_transfer_v1,
            "cryptoTransfer(TransferList,TokenTransferListV2[])": transfers.crypto_transfer_v2,
            **{signature: transfers.transfer_function(moves) for signature, moves in transfers.MOVES.items()},
        },
        **_DIRECT_WRITE | {"gas": _BY_OPERATION},
    ),
    Function("approve(address,address,uint256)", approvals.approve, "(int32,bool)", **_APPROVAL),
    Function("approveNFT(address,address,uint256)", approvals.approve_nft, **_APPROVAL),
    Function(
        "setApprovalForAll(address,address,bool)",
        approvals.set_approval_for_all,
        **_APPROVAL | {"only_direct": True},
    ),
    Function(
        "airdropTokens(TokenTransferListV2[])",
        transfers.airdrop_tokens,
        **_WRITE | {"gas": costs(AIRDROP), "limits": transfers.airdrop_limits},
    ),
    *same_columns(
        {
            "cancelAirdrops(PendingAirdrop[])": transfers.pending_function(cancel),
            "claimAirdrops(PendingAirdrop[])": transfers.pending_function(claim),
        },
        **_DIRECT_WRITE | {"limits": transfers.pending_limits},
    ),
    Function(
        "rejectTokens(address,address[],NftID[])",
        _on_ledger(reject),
        **_DIRECT_WRITE | {"gas": _BY_ENTRY, "limits": transfers.reject_limits},
    ),
)


# CREATION AND CHANGE

#: What makes the transaction of a call, by signature; these may be scheduled.
CREATIONS: dict[str, Callable[..., Any]] = {
    "createFungibleToken(HederaTokenV1,uint256,uint256)": bodies.fungible_token,
    "createFungibleToken(HederaTokenV2,uint64,uint32)": bodies.fungible_token,
    "createFungibleToken(HederaTokenV3,int64,int32)": bodies.fungible_token,
    **{
        f"createFungibleTokenWithCustomFees({terms})": bodies.fungible_token
        for terms in (
            "HederaTokenV1,uint256,uint256,FixedFeeV1[],FractionalFeeV1[]",
            "HederaTokenV2,uint64,uint32,FixedFeeV1[],FractionalFeeV1[]",
            "HederaTokenV3,int64,int32,FixedFeeV2[],FractionalFeeV2[]",
        )
    },
    "createNonFungibleToken(HederaTokenV1)": bodies.unique_token,
    "createNonFungibleToken(HederaTokenV2)": bodies.unique_token,
    "createNonFungibleToken(HederaTokenV3)": bodies.unique_token,
    "createNonFungibleTokenWithCustomFees(HederaTokenV1,FixedFeeV1[],RoyaltyFeeV1[])": bodies.unique_token,
    "createNonFungibleTokenWithCustomFees(HederaTokenV2,FixedFeeV1[],RoyaltyFeeV1[])": bodies.unique_token,
    "createNonFungibleTokenWithCustomFees(HederaTokenV3,FixedFeeV2[],RoyaltyFeeV2[])": bodies.unique_token,
}
CREATION_SELECTORS = frozenset(map(selector_of, CREATIONS))
CHANGES: dict[str, Callable[..., Any]] = {
    "updateTokenInfo(address,HederaTokenV1)": bodies.info_change,
    "updateTokenInfo(address,HederaTokenV2)": bodies.info_change,
    "updateTokenInfo(address,HederaTokenV3)": bodies.info_change,
    "updateTokenExpiryInfo(address,ExpiryV1)": bodies.expiry_change,
    "updateTokenExpiryInfo(address,ExpiryV2)": bodies.expiry_change,
    "updateTokenKeys(address,TokenKey[])": bodies.keys_change,
}


def _executed(
    messages: dict[str, Callable[..., Any]], execute: Callable[[Invocation, Any], Any]
) -> dict[str, Operation]:
    """Return the functions that carry out the transactions that calls describe."""

    def function(message_of: Callable[..., Any]) -> Operation:
        return lambda invocation, *arguments: execute(invocation, message_of(invocation, *arguments))

    return {signature: function(message_of) for signature, message_of in messages.items()}


_CREATION = _WRITE | {"returns": "(int64,address)", "gas": flat(bodies.CREATION_GAS)}
_FEES = _WRITE | {"limits": bodies.fee_limits}
_CREATIONS_AND_CHANGES = (
    *same_columns(_executed(CREATIONS, bodies.create), **_CREATION),
    *same_columns(_executed(CHANGES, bodies.update), **_WRITE),
    Function(
        "updateFungibleTokenCustomFees(address,FixedFeeV2[],FractionalFeeV2[])",
        bodies.update_fungible_fees,
        **_FEES,
    ),
    Function(
        "updateNonFungibleTokenCustomFees(address,FixedFeeV2[],RoyaltyFeeV2[])",
        bodies.update_unique_fees,
        **_FEES,
    ),
)


# VIEWS

_VIEWS = (
    Function("isToken(address)", views.is_token, "(int32,bool)", static_rejection=Rejection.CODE),
    Function("getTokenType(address)", token_view(lambda call, token: int(token.unique)), "(int32,int32)"),
    Function("isFrozen(address,address)", token_view(views.frozen), "(int32,bool)"),
    *same_columns(
        {
            "isKyc(address,address)": token_view(views.kyc, free_when_static=True),
            "getTokenDefaultFreezeStatus(address)": token_view(
                lambda call, token: token.freeze_default, free_when_static=True
            ),
            "getTokenDefaultKycStatus(address)": token_view(views.default_kyc_status, free_when_static=True),
        },
        returns="(int32,bool)",
    ),
    Function("getTokenExpiryInfo(address)", token_view(views.expiry_info), "(int32,ExpiryV2)"),
    Function(
        "getTokenKey(address,uint256)", token_view(views.token_key, free_when_static=True), "(int32,KeyValue)"
    ),
    Function("getTokenInfo(address)", views.info, "(int32,TokenInfoV1)", nothing=lambda: (no_token_info(),)),
    Function(
        "getFungibleTokenInfo(address)",
        views.fungible_info,
        "(int32,(TokenInfoV1,int32))",
        nothing=lambda: ((no_token_info(), 0),),
    ),
    Function(
        "getNonFungibleTokenInfo(address,int64)",
        views.unique_info,
        "(int32,(TokenInfoV1,int64,address,int64,bytes,address))",
    ),
    Function("getTokenCustomFees(address)", views.custom_fees, "(int32,CustomFeesV2)"),
    Function("allowance(address,address,address)", views.allowance, "(int64,uint256)"),
    Function(
        "getApproved(address,uint256)",
        token_view(views.approved),
        "(int32,address)",
        rejection=Rejection.TEXT,
        only_direct=True,
    ),
    Function(
        "isApprovedForAll(address,address,address)",
        token_view(views.approved_for_all),
        "(int64,bool)",
        rejection=Rejection.TEXT,
    ),
)


# AT THE ADDRESS OF A TOKEN

_ERC: Any = {"has_code": False, "rejection": Rejection.TEXT}
_ERC_VIEW = _ERC | {"needs_target": True}
_ERC_WRITE = _ERC | {"returns": "(bool)", "writes": True, "rejection": Rejection.WORD}
_AT_TOKEN = (
    Function("name()", token_view(lambda call, token: token.name), "(string)", **_ERC_VIEW),
    Function("symbol()", token_view(lambda call, token: token.symbol), "(string)", **_ERC_VIEW),
    Function("decimals()", token_view(views.decimals), "(uint8)", **_ERC_VIEW),
    Function("totalSupply()", token_view(views.total_supply), "(uint256)", **_ERC_VIEW),
    Function("balanceOf(address)", token_view(views.balance_of), "(uint256)", **_ERC_VIEW),
    Function("isApprovedForAll(address,address)", token_view(views.approved_for_all), "(bool)", **_ERC_VIEW),
    Function("ownerOf(uint256)", token_view(views.owner), "(address)", **_ERC_VIEW),
    Function("allowance(address,address)", views.allowance, "(uint256)", **_ERC_VIEW),
    Function("tokenURI(uint256)", views.token_uri, "(string)", **_ERC_VIEW),
    Function("getApproved(uint256)", token_view(views.approved), "(address)", **_ERC),
    Function("isAssociated()", token_view(views.is_associated), "(bool)", **_ERC),
    Function(
        "transfer(address,uint256)",
        transfers.erc_transfer,
        **_ERC_WRITE | {"gas": _BY_OPERATION, "limits": transfers.erc_transfer_limits},
    ),
    Function(
        "transferFrom(address,address,uint256)",
        transfers.erc_transfer_from,
        **_ERC_WRITE | {"gas": _BY_OPERATION},
    ),
    Function(
        "approve(address,uint256)",
        approvals.erc_approve,
        **_ERC_WRITE | {"gas": _APPROVE, "needs_target": True},
    ),
    Function("setApprovalForAll(address,bool)", approvals.erc_set_approval_for_all, **_APPROVAL),
    Function("associate()", _on_called_token(status.associate), **_WRITE | {"gas": _ASSOCIATE}),
    Function("dissociate()", _on_called_token(status.dissociate), **_WRITE | {"gas": _ASSOCIATE}),
    *same_columns(
        {
            "cancelAirdropFT(address)": transfers.called_pending_function(cancel, sending=True),
            "cancelAirdropNFT(address,int64)": transfers.called_pending_function(cancel, sending=True),
            "claimAirdropFT(address)": transfers.called_pending_function(claim, sending=False),
            "claimAirdropNFT(address,int64)": transfers.called_pending_function(claim, sending=False),
        },
        **_WRITE | {"limits": lambda invocation, token, *_: invocation.token(token)},
    ),
    Function("rejectTokenFT()", transfers.reject_called_token, **_WRITE),
    Function(
        "rejectTokenNFTs(int64[])",
        transfers.reject_called_nfts,
        **_WRITE | {"limits": transfers.reject_called_limits},
    ),
)

#: Its own functions, which name a token.
FUNCTIONS = by_selector(*_SUPPLY_AND_STATUS, *_ASSOCIATIONS, *_TRANSFERS, *_CREATIONS_AND_CHANGES, *_VIEWS)
#: Those of a token, called at its own address.
PROXY_FUNCTIONS = by_selector(*_AT_TOKEN)
