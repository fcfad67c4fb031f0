import pytest

from web3sim.system_contracts import contracts
from web3sim.system_contracts.function_signatures import selector_of

SIGNATURES = [
    {selector: function.signature for selector, function in functions.items()}
    for service in contracts.SERVICES.values()
    for functions in (service.functions, service.proxy_functions)
]


@pytest.mark.parametrize(
    ("signature", "selector"),
    [
        ("balanceOf(address)", "70a08231"),
        ("createFungibleToken(HederaTokenV1,uint256,uint256)", "7812a04b"),
        ("createFungibleToken(HederaTokenV2,uint64,uint32)", "c23baeb6"),
        (
            "createFungibleTokenWithCustomFees(HederaTokenV3,int64,int32,FixedFeeV2[],FractionalFeeV2[])",
            "2af0c59a",
        ),
        ("createNonFungibleTokenWithCustomFees(HederaTokenV1,FixedFeeV1[],RoyaltyFeeV1[])", "5bc7c0e6"),
        ("cryptoTransfer(TransferList,TokenTransferListV2[])", "0e71804f"),
        ("cryptoTransfer(TokenTransferListV1[])", "189a554c"),
        ("updateTokenKeys(address,TokenKey[])", "6fc3cbaf"),
        ("updateTokenExpiryInfo(address,ExpiryV1)", "593d6e82"),
        ("claimAirdrops(PendingAirdrop[])", "05961641"),
        ("rejectTokens(address,address[],NftID[])", "ebd595e0"),
        ("hbarAllowance(address)", "bbee989e"),
        ("scheduleCall(address,uint256,uint256,uint64,bytes)", "6f5bfde8"),
    ],
)
def test_functions_are_known_by_their_selector(signature, selector):
    assert selector_of(signature).hex() == selector
    assert any(table.get(bytes.fromhex(selector)) == signature for table in SIGNATURES)


def test_a_selector_names_one_function():
    assert sum(map(len, SIGNATURES)) == len(frozenset().union(*SIGNATURES)) == 116
