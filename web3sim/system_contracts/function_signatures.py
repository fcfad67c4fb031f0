"""Signatures of the functions of system contracts, with names of structs where there are any.

The version of a struct is part of its name, since functions of one name take several.
"""

from functools import cache

from eth_abi.grammar import parse

from mirror.core.values.hashes import keccak256
from web3sim.system_contracts.abi import SELECTOR_LENGTH

_KEY = "(bool,address,bytes,bytes,address)"
_KEYS = f"(uint256,{_KEY})[]"
_EXPIRY_V1, _EXPIRY_V2 = "(uint32,address,uint32)", "(int64,address,int64)"
STRUCTS = {
    # Of other structs, so it is replaced before them.
    "TokenInfoV1": "(HederaTokenV3,int64,bool,bool,bool,CustomFeesV2,string)",
    "CustomFeesV2": "FixedFeeV2[],FractionalFeeV2[],RoyaltyFeeV2[]",
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
    "KeyValue": _KEY,
    "ExpiryV1": _EXPIRY_V1,
    "ExpiryV2": _EXPIRY_V2,
}


def canonical(signature: str) -> str:
    """Return a signature, or a list of types, in which structs are replaced by their members."""
    for name, members in STRUCTS.items():
        signature = signature.replace(name, members)
    return signature


@cache
def selector_of(signature: str) -> bytes:
    """Return the first 4 bytes of the hash of a signature without names of structs."""
    return keccak256(canonical(signature).encode())[:SELECTOR_LENGTH]


def parameters_of(signature: str) -> tuple[str, ...]:
    """Return the types in the parentheses of a signature."""
    types = canonical(signature)
    types = types[types.index("(") :]
    return () if types == "()" else tuple(part.to_type_str() for part in parse(types).components)
