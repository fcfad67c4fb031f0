"""Views, with what they are asked on the ledger of a case."""

from typing import Any

from tests.web3sim.system_contracts.ingested.case import A, Case, T
from tests.web3sim.system_contracts.ingested.numbers import HOLDER, OTHER, OWNER, SERIALS, UNITS
from web3sim.state.proxy_code import ACCOUNT_SERVICE, SCHEDULE_SERVICE

EXCHANGE_RATE, PSEUDORANDOM = (number.to_bytes(20) for number in (0x168, 0x169))


def _view(signature: str, *arguments: Any, **options: Any) -> Case:
    return Case(signature, arguments, lambda _: None, **options)


VIEWS = [
    *(
        _view(f"{name}(address)", T(UNITS))
        for name in (
            *("isToken", "getTokenType", "getTokenDefaultFreezeStatus", "getTokenDefaultKycStatus"),
            *("getTokenExpiryInfo", "getTokenInfo", "getFungibleTokenInfo", "getTokenCustomFees"),
        )
    ),
    _view("isFrozen(address,address)", T(UNITS), A(HOLDER)),
    _view("isKyc(address,address)", T(UNITS), A(HOLDER)),
    _view("getTokenKey(address,uint256)", T(UNITS), 16),
    _view("getNonFungibleTokenInfo(address,int64)", T(SERIALS), 1),
    _view("allowance(address,address,address)", T(UNITS), A(HOLDER), A(OTHER)),
    _view("getApproved(address,uint256)", T(SERIALS), 1),
    _view("isApprovedForAll(address,address,address)", T(SERIALS), A(HOLDER), A(OTHER)),
    *(
        _view(f"{name}()", target=UNITS)
        for name in ("name", "symbol", "decimals", "totalSupply", "isAssociated")
    ),
    _view("balanceOf(address)", A(HOLDER), target=UNITS),
    _view("allowance(address,address)", A(HOLDER), A(OTHER), target=UNITS),
    _view("getApproved(uint256)", 1, target=SERIALS),
    _view("isApprovedForAll(address,address)", A(HOLDER), A(OTHER), target=SERIALS),
    _view("ownerOf(uint256)", 1, target=SERIALS),
    _view("tokenURI(uint256)", 1, target=SERIALS),
    _view("tinycentsToTinybars(uint256)", 100, service=EXCHANGE_RATE),
    _view("tinybarsToTinycents(uint256)", 100, service=EXCHANGE_RATE),
    _view("getPseudorandomSeed()", service=PSEUDORANDOM),
    _view("hbarAllowance(address,address)", A(HOLDER), A(OTHER), service=ACCOUNT_SERVICE),
    _view("hbarAllowance(address)", A(OTHER), target=HOLDER, sender=OTHER, service=ACCOUNT_SERVICE),
    _view("hasScheduleCapacity(uint256,uint256)", 60, 50_000, service=SCHEDULE_SERVICE),
]
#: They change nothing, but halt in a static frame like those that do.
NOT_STATIC = [
    _view("isValidAlias(address)", A(OWNER), service=ACCOUNT_SERVICE),
    _view("getHederaAccountNumAlias(address)", A(OWNER), service=ACCOUNT_SERVICE),
    _view("isAuthorized(address,bytes,bytes)", A(OWNER), b"", b"", service=ACCOUNT_SERVICE),
    _view("isAuthorizedRaw(address,bytes,bytes)", A(OWNER), bytes(32), bytes(64), service=ACCOUNT_SERVICE),
]
#: Such for which this ledger has nothing; their own tests have what they answer.
ELSEWHERE = {
    "getEvmAddressAlias(address)",
    "getScheduledCreateFungibleTokenInfo(address)",
    "getScheduledCreateNonFungibleTokenInfo(address)",
}
