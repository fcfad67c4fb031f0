"""Every function of the network's system contracts, by its selector.

A signature has the names of structs where there are any; the version of a struct is part of its name, since
functions of one name take several.
"""

from mirror.values.hashes import keccak256
from web3sim.system_contracts.abi import SELECTOR_LENGTH

_KEYS = "(uint256,(bool,address,bytes,bytes,address))[]"
_EXPIRY_V1, _EXPIRY_V2 = "(uint32,address,uint32)", "(int64,address,int64)"
_STRUCTS = {
    "HederaTokenV1": f"(string,string,address,string,bool,uint32,bool,{_KEYS},{_EXPIRY_V1})",
    "HederaTokenV2": f"(string,string,address,string,bool,int64,bool,{_KEYS},{_EXPIRY_V1})",
    "HederaTokenV3": f"(string,string,address,string,bool,int64,bool,{_KEYS},{_EXPIRY_V2})",
    "FixedFeeV1": "(uint32,address,bool,bool,address)",
    "FixedFeeV2": "(int64,address,bool,bool,address)",
    "FractionalFeeV1": "(uint32,uint32,uint32,uint32,bool,address)",
    "FractionalFeeV2": "(int64,int64,int64,int64,bool,address)",
    "RoyaltyFeeV1": "(uint32,uint32,uint32,address,bool,address)",
    "RoyaltyFeeV2": "(int64,int64,int64,address,bool,address)",
    "TokenTransferListV1": "(address,(address,int64)[],(address,address,int64)[])",
    "TokenTransferListV2": "(address,(address,int64,bool)[],(address,address,int64,bool)[])",
    "TransferList": "((address,int64,bool)[])",
    "PendingAirdrop": "(address,address,address,int64)",
    "NftID": "(address,int64)",
    "TokenKey[]": _KEYS,
    "ExpiryV1": _EXPIRY_V1,
    "ExpiryV2": _EXPIRY_V2,
}


def selector_of(signature: str) -> bytes:
    """The first 4 bytes of the hash of a signature in which structs are replaced by their members."""
    for name, members in _STRUCTS.items():
        signature = signature.replace(name, members)
    return keccak256(signature.encode())[:SELECTOR_LENGTH]


def _by_selector(*signatures: str) -> dict[bytes, str]:
    return {selector_of(signature): signature for signature in signatures}


TOKEN_SERVICE = _by_selector(
    "redirectForToken(address,bytes)",
    # Views
    "allowance(address,address,address)",
    "getApproved(address,uint256)",
    "getFungibleTokenInfo(address)",
    "getNonFungibleTokenInfo(address,int64)",
    "getTokenCustomFees(address)",
    "getTokenDefaultFreezeStatus(address)",
    "getTokenDefaultKycStatus(address)",
    "getTokenExpiryInfo(address)",
    "getTokenInfo(address)",
    "getTokenKey(address,uint256)",
    "getTokenType(address)",
    "isApprovedForAll(address,address,address)",
    "isFrozen(address,address)",
    "isKyc(address,address)",
    "isToken(address)",
    # Tokens
    "createFungibleToken(HederaTokenV1,uint256,uint256)",
    "createFungibleToken(HederaTokenV2,uint64,uint32)",
    "createFungibleToken(HederaTokenV3,int64,int32)",
    "createFungibleTokenWithCustomFees(HederaTokenV1,uint256,uint256,FixedFeeV1[],FractionalFeeV1[])",
    "createFungibleTokenWithCustomFees(HederaTokenV2,uint64,uint32,FixedFeeV1[],FractionalFeeV1[])",
    "createFungibleTokenWithCustomFees(HederaTokenV3,int64,int32,FixedFeeV2[],FractionalFeeV2[])",
    "createNonFungibleToken(HederaTokenV1)",
    "createNonFungibleToken(HederaTokenV2)",
    "createNonFungibleToken(HederaTokenV3)",
    "createNonFungibleTokenWithCustomFees(HederaTokenV1,FixedFeeV1[],RoyaltyFeeV1[])",
    "createNonFungibleTokenWithCustomFees(HederaTokenV2,FixedFeeV1[],RoyaltyFeeV1[])",
    "createNonFungibleTokenWithCustomFees(HederaTokenV3,FixedFeeV2[],RoyaltyFeeV2[])",
    "deleteToken(address)",
    "pauseToken(address)",
    "unpauseToken(address)",
    "updateFungibleTokenCustomFees(address,FixedFeeV2[],FractionalFeeV2[])",
    "updateNonFungibleTokenCustomFees(address,FixedFeeV2[],RoyaltyFeeV2[])",
    "updateNFTsMetadata(address,int64[],bytes)",
    "updateTokenExpiryInfo(address,ExpiryV1)",
    "updateTokenExpiryInfo(address,ExpiryV2)",
    "updateTokenInfo(address,HederaTokenV1)",
    "updateTokenInfo(address,HederaTokenV2)",
    "updateTokenInfo(address,HederaTokenV3)",
    "updateTokenKeys(address,TokenKey[])",
    # Supply
    "burnToken(address,uint64,int64[])",
    "burnToken(address,int64,int64[])",
    "mintToken(address,uint64,bytes[])",
    "mintToken(address,int64,bytes[])",
    "wipeTokenAccount(address,address,uint32)",
    "wipeTokenAccount(address,address,int64)",
    "wipeTokenAccountNFT(address,address,int64[])",
    # Transfers and allowances
    "approve(address,address,uint256)",
    "approveNFT(address,address,uint256)",
    "cryptoTransfer(TokenTransferListV1[])",
    "cryptoTransfer(TransferList,TokenTransferListV2[])",
    "setApprovalForAll(address,address,bool)",
    "transferFrom(address,address,address,uint256)",
    "transferFromNFT(address,address,address,uint256)",
    "transferNFT(address,address,address,int64)",
    "transferNFTs(address,address[],address[],int64[])",
    "transferToken(address,address,address,int64)",
    "transferTokens(address,address[],int64[])",
    # Relationships
    "associateToken(address,address)",
    "associateTokens(address,address[])",
    "dissociateToken(address,address)",
    "dissociateTokens(address,address[])",
    "freezeToken(address,address)",
    "grantTokenKyc(address,address)",
    "revokeTokenKyc(address,address)",
    "unfreezeToken(address,address)",
    # Airdrops
    "airdropTokens(TokenTransferListV2[])",
    "cancelAirdrops(PendingAirdrop[])",
    "claimAirdrops(PendingAirdrop[])",
    "rejectTokens(address,address[],NftID[])",
)

# At the address of a token.
TOKEN_PROXY = _by_selector(
    "name()",
    "symbol()",
    "decimals()",
    "totalSupply()",
    "balanceOf(address)",
    "allowance(address,address)",
    "getApproved(uint256)",
    "isApprovedForAll(address,address)",
    "ownerOf(uint256)",
    "tokenURI(uint256)",
    "approve(address,uint256)",
    "associate()",
    "cancelAirdropFT(address)",
    "cancelAirdropNFT(address,int64)",
    "claimAirdropFT(address)",
    "claimAirdropNFT(address,int64)",
    "dissociate()",
    "isAssociated()",
    "rejectTokenFT()",
    "rejectTokenNFTs(int64[])",
    "setApprovalForAll(address,bool)",
    "transfer(address,uint256)",
    "transferFrom(address,address,uint256)",
)

EXCHANGE_RATE = _by_selector("tinybarsToTinycents(uint256)", "tinycentsToTinybars(uint256)")

PRNG = _by_selector("getPseudorandomSeed()")

ACCOUNT_SERVICE = _by_selector(
    "redirectForAccount(address,bytes)",
    "getEvmAddressAlias(address)",
    "getHederaAccountNumAlias(address)",
    "hbarAllowance(address,address)",
    "hbarApprove(address,address,int256)",
    "isAuthorized(address,bytes,bytes)",
    "isAuthorizedRaw(address,bytes,bytes)",
    "isValidAlias(address)",
)

# At the address of an account.
ACCOUNT_PROXY = _by_selector(
    "hbarAllowance(address)",
    "hbarApprove(address,int256)",
    "setUnlimitedAutomaticAssociations(bool)",
)

SCHEDULE_SERVICE = _by_selector(
    "redirectForScheduleTxn(address,bytes)",
    "authorizeSchedule(address)",
    "deleteSchedule(address)",
    "executeCallOnPayerSignature(address,address,uint256,uint256,uint64,bytes)",
    "getScheduledCreateFungibleTokenInfo(address)",
    "getScheduledCreateNonFungibleTokenInfo(address)",
    "hasScheduleCapacity(uint256,uint256)",
    "scheduleCall(address,uint256,uint256,uint64,bytes)",
    "scheduleCallWithPayer(address,address,uint256,uint256,uint64,bytes)",
    "scheduleNative(address,bytes,address)",
    "signSchedule(address,bytes)",
)

# At the address of a schedule.
SCHEDULE_PROXY = _by_selector("deleteSchedule()", "signSchedule()")
