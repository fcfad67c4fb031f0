"""The table of the token service, 0x167, and of tokens at their own addresses.

A row has signature, operation, types returned and gas; then what differs from the rule: a refused operation
answers its code, a refused view in a static frame or at the token's address reverts with the name of the
code.
"""

from collections.abc import Callable
from typing import Any

from web3sim.engine.interface import ZERO_ADDRESS
from web3sim.operations.prices import (
    AIRDROP,
    APPROVE,
    ASSOCIATE,
    MINT_SERIAL,
    TOKEN_OPERATION,
)
from web3sim.operations.refusals import Refusal
from web3sim.operations.tokens import status, supply
from web3sim.operations.tokens.airdrops import cancel, claim
from web3sim.system_contracts.abi import int64_of
from web3sim.system_contracts.functions import Function, Gas, Invocation, Operation, by_selector, costs, flat
from web3sim.system_contracts.signatures import selector_of
from web3sim.system_contracts.token_service import approvals, bodies, transfers, views
from web3sim.system_contracts.token_service.info import no_token_info
from web3sim.system_contracts.token_service.views import of_argument, of_target

_OPERATION, _ASSOCIATE, _APPROVE = costs(TOKEN_OPERATION), costs(ASSOCIATE), costs(APPROVE)
# What is charged depends on the ledger before the transfer.
_BY_OPERATION = flat(0, "by what is transferred")


def _write(signature: str, operation: Operation, *, gas: Any = _OPERATION, **others: Any) -> Function:
    return Function(signature, operation, gas=gas, writes=True, **others)


def _at_token(signature: str, operation: Operation, returns: str, **others: Any) -> Function:
    """A view of a token's own."""
    texts = {"refusal": Refusal.TEXT, "static_refusal": Refusal.TEXT}
    return Function(signature, operation, returns, has_code=False, **texts | others)


def _on_ledger(operation: Callable[..., Any]) -> Operation:
    """Return the function of an operation that takes the ledger and the arguments as they are."""
    return lambda invocation, *arguments: operation(invocation.ledger, *arguments)


def _of_list(operation: Callable[..., None]) -> Operation:
    return lambda invocation, account, tokens: operation(
        invocation.ledger, account, tokens, invocation.sender_id
    )


def _of_one(operation: Callable[..., None]) -> Operation:
    return lambda invocation, account, token: _of_list(operation)(invocation, account, [token])


def _of_caller(operation: Callable[..., None]) -> Operation:
    def function(invocation: Invocation) -> None:
        transfers.called_token(invocation)
        _of_one(operation)(invocation, invocation.call.sender, invocation.target)

    return function


# SUPPLY AND STATUS


def _mint(invocation: Invocation, token: bytes, amount: int, metadata: Any) -> Any:
    return supply.mint(invocation.ledger, token, int64_of(amount), metadata)


def _burn(invocation: Invocation, token: bytes, amount: int, serials: Any) -> int:
    return supply.burn(invocation.ledger, token, int64_of(amount), serials)


def _minting(invocation: Invocation) -> int:
    """The gas of a mint: of each serial, or of units."""
    *_, metadata = invocation.arguments
    return invocation.prices.gas_of(len(metadata) * MINT_SERIAL or TOKEN_OPERATION)


_MINTING = Gas(_minting, f"{costs(TOKEN_OPERATION).text}; {costs(MINT_SERIAL).text} for each serial")


_SUPPLY_AND_STATUS = (
    *(
        _write(f"mintToken(address,{kind},bytes[])", _mint, returns="(int64,int64,int64[])", gas=_MINTING)
        for kind in ("uint64", "int64")
    ),
    *(
        _write(f"burnToken(address,{kind},int64[])", _burn, returns="(int64,int64)")
        for kind in ("uint64", "int64")
    ),
    *(
        _write(f"wipeTokenAccount(address,address,{kind})", _on_ledger(supply.wipe))
        for kind in ("uint32", "int64")
    ),
    _write("wipeTokenAccountNFT(address,address,int64[])", _on_ledger(supply.wipe_serials)),
    _write("freezeToken(address,address)", _on_ledger(status.freeze)),
    _write("unfreezeToken(address,address)", _on_ledger(status.unfreeze)),
    _write("grantTokenKyc(address,address)", _on_ledger(status.grant_kyc)),
    _write("revokeTokenKyc(address,address)", _on_ledger(status.revoke_kyc)),
    _write("pauseToken(address)", _on_ledger(status.pause)),
    _write("unpauseToken(address)", _on_ledger(status.unpause)),
    _write("deleteToken(address)", _on_ledger(status.delete)),
)
_BY_TOKENS = costs(ASSOCIATE, lambda account, tokens: len(tokens), "token")
_ASSOCIATIONS = (
    _write("associateToken(address,address)", _of_one(status.associate), gas=_ASSOCIATE, only_direct=True),
    _write(
        "associateTokens(address,address[])", _of_list(status.associate), gas=_BY_TOKENS, only_direct=True
    ),
    _write("dissociateToken(address,address)", _of_one(status.dissociate), gas=_ASSOCIATE, only_direct=True),
    _write(
        "dissociateTokens(address,address[])", _of_list(status.dissociate), gas=_ASSOCIATE, only_direct=True
    ),
)


# TRANSFERS AND APPROVALS

_TRANSFERS = tuple(
    _write(signature, operation, gas=_BY_OPERATION, only_direct=True)
    for signature, operation in (
        ("cryptoTransfer(TokenTransferListV1[])", transfers.crypto_transfer_v1),
        ("cryptoTransfer(TransferList,TokenTransferListV2[])", transfers.crypto_transfer_v2),
        ("transferFrom(address,address,address,uint256)", transfers.transfer_from),
        ("transferFromNFT(address,address,address,uint256)", transfers.transfer_from_nft),
        ("transferNFT(address,address,address,int64)", transfers.transfer_nft),
        ("transferNFTs(address,address[],address[],int64[])", transfers.transfer_nfts),
        ("transferToken(address,address,address,int64)", transfers.transfer_token),
        ("transferTokens(address,address[],int64[])", transfers.transfer_tokens),
    )
)
_APPROVALS = (
    _write(
        "approve(address,address,uint256)",
        approvals.approve,
        returns="(int32,bool)",
        gas=_APPROVE,
        refusal=Refusal.WORD,
    ),
    _write("approveNFT(address,address,uint256)", approvals.approve_nft, gas=_APPROVE, refusal=Refusal.WORD),
    _write(
        "setApprovalForAll(address,address,bool)",
        approvals.set_approval_for_all,
        gas=_APPROVE,
        refusal=Refusal.WORD,
        only_direct=True,
    ),
)


# AIRDROPS

_BY_ENTRY = costs(TOKEN_OPERATION, lambda owner, tokens, nfts: len(tokens) + len(nfts), "entry")
_AIRDROPS = (
    _write(
        "airdropTokens(TokenTransferListV2[])",
        transfers.airdrop_tokens,
        gas=costs(AIRDROP),
        limits=transfers.airdrop_limits,
    ),
    *(
        _write(signature, transfers.of_pending(operation), limits=transfers.pending_limits, only_direct=True)
        for signature, operation in (
            ("cancelAirdrops(PendingAirdrop[])", cancel),
            ("claimAirdrops(PendingAirdrop[])", claim),
        )
    ),
    _write(
        "rejectTokens(address,address[],NftID[])",
        transfers.reject_tokens,
        gas=_BY_ENTRY,
        limits=transfers.reject_limits,
        only_direct=True,
    ),
)


# CREATION AND CHANGE

_HBAR_FEES = "FixedFeeV1[],FractionalFeeV1[]"
#: What makes the transaction of a call, by signature; these may be scheduled.
CREATIONS: dict[str, Callable[..., Any]] = {
    "createFungibleToken(HederaTokenV1,uint256,uint256)": bodies.fungible_token,
    "createFungibleToken(HederaTokenV2,uint64,uint32)": bodies.fungible_token,
    "createFungibleToken(HederaTokenV3,int64,int32)": bodies.fungible_token,
    f"createFungibleTokenWithCustomFees(HederaTokenV1,uint256,uint256,{_HBAR_FEES})": bodies.fungible_token,
    f"createFungibleTokenWithCustomFees(HederaTokenV2,uint64,uint32,{_HBAR_FEES})": bodies.fungible_token,
    "createFungibleTokenWithCustomFees(HederaTokenV3,int64,int32,FixedFeeV2[],FractionalFeeV2[])": (
        bodies.fungible_token
    ),
    "createNonFungibleToken(HederaTokenV1)": bodies.unique_token,
    "createNonFungibleToken(HederaTokenV2)": bodies.unique_token,
    "createNonFungibleToken(HederaTokenV3)": bodies.unique_token,
    "createNonFungibleTokenWithCustomFees(HederaTokenV1,FixedFeeV1[],RoyaltyFeeV1[])": bodies.unique_token,
    "createNonFungibleTokenWithCustomFees(HederaTokenV2,FixedFeeV1[],RoyaltyFeeV1[])": bodies.unique_token,
    "createNonFungibleTokenWithCustomFees(HederaTokenV3,FixedFeeV2[],RoyaltyFeeV2[])": bodies.unique_token,
}
CREATION_SELECTORS = frozenset(map(selector_of, CREATIONS))
CHANGES: dict[str, Callable[..., Any]] = {
    "updateTokenInfo(address,HederaTokenV1)": bodies.change_of_info,
    "updateTokenInfo(address,HederaTokenV2)": bodies.change_of_info,
    "updateTokenInfo(address,HederaTokenV3)": bodies.change_of_info,
    "updateTokenExpiryInfo(address,ExpiryV1)": bodies.change_of_expiry,
    "updateTokenExpiryInfo(address,ExpiryV2)": bodies.change_of_expiry,
    "updateTokenKeys(address,TokenKey[])": bodies.change_of_keys,
}


def _carried_out(message_of: Callable[..., Any], carry_out: Callable[..., Any]) -> Operation:
    """Return the function that carries out the transaction that a call describes."""

    def function(invocation: Invocation, *arguments: Any) -> Any:
        return carry_out(message_of(invocation, *arguments), invocation, arguments[0])

    return function


_CREATIONS_AND_CHANGES = (
    *(
        _write(
            signature,
            _carried_out(message_of, bodies.create),
            returns="(int64,address)",
            gas=flat(bodies.CREATION_GAS),
        )
        for signature, message_of in CREATIONS.items()
    ),
    *(
        _write(signature, _carried_out(message_of, bodies.update))
        for signature, message_of in CHANGES.items()
    ),
    _write(
        "updateFungibleTokenCustomFees(address,FixedFeeV2[],FractionalFeeV2[])",
        bodies.update_fungible_fees,
        limits=bodies.fee_limits,
    ),
    _write(
        "updateNonFungibleTokenCustomFees(address,FixedFeeV2[],RoyaltyFeeV2[])",
        bodies.update_unique_fees,
        limits=bodies.fee_limits,
    ),
)


# VIEWS

_VIEWS = (
    Function("isToken(address)", views.is_token, "(int32,bool)", static_refusal=Refusal.CODE),
    Function("getTokenType(address)", of_argument(views.token_type), "(int32,int32)"),
    Function("isFrozen(address,address)", of_argument(views.frozen), "(int32,bool)"),
    Function("isKyc(address,address)", of_argument(views.kyc, free_when_static=True), "(int32,bool)"),
    Function(
        "getTokenDefaultFreezeStatus(address)",
        of_argument(views.default_freeze_status, free_when_static=True),
        "(int32,bool)",
    ),
    Function(
        "getTokenDefaultKycStatus(address)",
        of_argument(views.default_kyc_status, free_when_static=True),
        "(int32,bool)",
    ),
    Function("getTokenExpiryInfo(address)", of_argument(views.expiry_info), "(int32,ExpiryV2)"),
    Function(
        "getTokenKey(address,uint256)",
        of_argument(views.token_key, free_when_static=True),
        "(int32,KeyValue)",
    ),
    Function(
        "getTokenInfo(address)",
        views.info,
        "(int32,TokenInfoV1)",
        nothing=lambda: (no_token_info(),),
    ),
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
        nothing=lambda: ((no_token_info(), 0, ZERO_ADDRESS, 0, b"", ZERO_ADDRESS),),
    ),
    Function("getTokenCustomFees(address)", views.custom_fees, "(int32,CustomFeesV2)"),
    Function("allowance(address,address,address)", views.allowance, "(int64,uint256)"),
    Function(
        "getApproved(address,uint256)",
        of_argument(views.approved),
        "(int32,address)",
        refusal=Refusal.TEXT,
        only_direct=True,
    ),
    Function(
        "isApprovedForAll(address,address,address)",
        of_argument(views.approved_for_all),
        "(int64,bool)",
        refusal=Refusal.TEXT,
    ),
)


# AT THE ADDRESS OF A TOKEN

_ERC_VIEWS = (
    *(
        _at_token(signature, of_target(view), returns, needs_target=True)
        for signature, view, returns in (
            ("name()", views.name, "(string)"),
            ("symbol()", views.symbol, "(string)"),
            ("decimals()", views.decimals, "(uint8)"),
            ("totalSupply()", views.total_supply, "(uint256)"),
            ("balanceOf(address)", views.balance_of, "(uint256)"),
            ("isApprovedForAll(address,address)", views.approved_for_all, "(bool)"),
            ("ownerOf(uint256)", views.owner, "(address)"),
        )
    ),
    _at_token("allowance(address,address)", views.called_allowance, "(uint256)", needs_target=True),
    _at_token("tokenURI(uint256)", views.token_uri, "(string)", needs_target=True),
    _at_token("getApproved(uint256)", of_target(views.approved), "(address)"),
    _at_token("isAssociated()", of_target(views.is_associated), "(bool)"),
)
_ERC_WRITES = (
    *(
        _at_token(
            signature,
            operation,
            "(bool)",
            gas=_BY_OPERATION,
            writes=True,
            refusal=Refusal.WORD,
            limits=limits,
        )
        for signature, operation, limits in (
            ("transfer(address,uint256)", transfers.erc_transfer, transfers.erc_transfer_limits),
            ("transferFrom(address,address,uint256)", transfers.erc_transfer_from, None),
        )
    ),
    _at_token(
        "approve(address,uint256)",
        approvals.erc_approve,
        "(bool)",
        gas=_APPROVE,
        writes=True,
        refusal=Refusal.WORD,
        needs_target=True,
    ),
    _write(
        "setApprovalForAll(address,bool)",
        approvals.erc_set_approval_for_all,
        gas=_APPROVE,
        refusal=Refusal.WORD,
    ),
)
_AT_TOKEN = (
    _write("associate()", _of_caller(status.associate), gas=_ASSOCIATE),
    _write("dissociate()", _of_caller(status.dissociate), gas=_ASSOCIATE),
    *(
        _write(signature, transfers.of_called_pending(operation, sends=sends), limits=transfers.called_limits)
        for signature, operation, sends in (
            ("cancelAirdropFT(address)", cancel, True),
            ("cancelAirdropNFT(address,int64)", cancel, True),
            ("claimAirdropFT(address)", claim, False),
            ("claimAirdropNFT(address,int64)", claim, False),
        )
    ),
    _write("rejectTokenFT()", transfers.reject_called_token),
    _write(
        "rejectTokenNFTs(int64[])", transfers.reject_called_serials, limits=transfers.reject_called_limits
    ),
)

#: Its own functions, which name a token.
FUNCTIONS = by_selector(
    (
        *_SUPPLY_AND_STATUS,
        *_ASSOCIATIONS,
        *_TRANSFERS,
        *_APPROVALS,
        *_AIRDROPS,
        *_CREATIONS_AND_CHANGES,
        *_VIEWS,
    )
)
#: Those of a token, called at its own address.
PROXY_FUNCTIONS = by_selector((*_ERC_VIEWS, *_ERC_WRITES, *_AT_TOKEN))
