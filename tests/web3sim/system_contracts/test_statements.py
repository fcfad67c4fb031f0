"""Every view takes up to three statements, of the past up to six, and none once its rows are cached."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from eth_abi.abi import encode

from mirror.core.values.hapi.messages import SchedulableTransactionBody
from mirror.demo.streams.keys import Ed25519Wallet
from tests.build import START
from tests.web3sim.state.states import at, current, long_zero
from tests.web3sim.system_contracts.calls import CALLER, run
from web3sim.engine.interface import Status
from web3sim.state import cache
from web3sim.state.blocks import chain_id
from web3sim.system_contracts.contracts import SERVICES
from web3sim.system_contracts.function_signatures import parameters_of, selector_of

TREASURY, OWNER, SPENDER, COLLECTOR, RENEWER = 1001, 2001, 2002, 2003, 2004
TOKEN, UNIQUE, SCHEDULE, UNIQUE_SCHEDULE = 3001, 3002, 4001, 4002
OWNER_ADDRESS, SPENDER_ADDRESS = bytes([0x83]) * 20, bytes([0x84]) * 20
MESSAGE, DIGEST, WALLET = b"I will pay", bytes(range(32)), Ed25519Wallet("one")
HTS, RATE, SEED, HAS, HSS = (long_zero(number) for number in range(0x167, 0x16C))
# Keys are read first and rows second.
MORE_IN_THE_PAST = 3
STATES = pytest.mark.parametrize("state_of", [current, lambda: at(START + 100)], ids=["now", "then"])

TOKEN_ADDRESS, UNIQUE_ADDRESS = long_zero(TOKEN), long_zero(UNIQUE)
VIEWS: list[tuple[Any, ...]] = [
    *(
        (HTS, signature, TOKEN_ADDRESS)
        for signature in (
            *("isToken(address)", "getTokenType(address)", "getTokenExpiryInfo(address)"),
            *("getTokenDefaultFreezeStatus(address)", "getTokenDefaultKycStatus(address)"),
            *("getTokenInfo(address)", "getFungibleTokenInfo(address)", "getTokenCustomFees(address)"),
        )
    ),
    (HTS, "isFrozen(address,address)", TOKEN_ADDRESS, OWNER_ADDRESS),
    (HTS, "isKyc(address,address)", TOKEN_ADDRESS, OWNER_ADDRESS),
    (HTS, "getTokenKey(address,uint256)", TOKEN_ADDRESS, 2),
    (HTS, "getNonFungibleTokenInfo(address,int64)", UNIQUE_ADDRESS, 1),
    (HTS, "allowance(address,address,address)", TOKEN_ADDRESS, OWNER_ADDRESS, SPENDER_ADDRESS),
    (HTS, "getApproved(address,uint256)", UNIQUE_ADDRESS, 1),
    (HTS, "isApprovedForAll(address,address,address)", UNIQUE_ADDRESS, OWNER_ADDRESS, SPENDER_ADDRESS),
    *(
        (TOKEN_ADDRESS, signature)
        for signature in ("name()", "symbol()", "decimals()", "totalSupply()", "isAssociated()")
    ),
    (UNIQUE_ADDRESS, "totalSupply()"),
    (TOKEN_ADDRESS, "balanceOf(address)", OWNER_ADDRESS),
    (UNIQUE_ADDRESS, "balanceOf(address)", OWNER_ADDRESS),
    (TOKEN_ADDRESS, "allowance(address,address)", OWNER_ADDRESS, SPENDER_ADDRESS),
    (UNIQUE_ADDRESS, "getApproved(uint256)", 1),
    (UNIQUE_ADDRESS, "ownerOf(uint256)", 1),
    (UNIQUE_ADDRESS, "tokenURI(uint256)", 1),
    (UNIQUE_ADDRESS, "isApprovedForAll(address,address)", OWNER_ADDRESS, SPENDER_ADDRESS),
    (RATE, "tinycentsToTinybars(uint256)", 5),
    (RATE, "tinybarsToTinycents(uint256)", 5),
    (SEED, "getPseudorandomSeed()"),
    (HAS, "getEvmAddressAlias(address)", long_zero(OWNER)),
    (HAS, "getHederaAccountNumAlias(address)", OWNER_ADDRESS),
    (HAS, "isValidAlias(address)", OWNER_ADDRESS),
    (HAS, "hbarAllowance(address,address)", OWNER_ADDRESS, SPENDER_ADDRESS),
    (
        *(HAS, "isAuthorized(address,bytes,bytes)", OWNER_ADDRESS, MESSAGE),
        WALLET.signatures(MESSAGE).SerializeToString(),
    ),
    (
        *(HAS, "isAuthorizedRaw(address,bytes,bytes)", OWNER_ADDRESS, DIGEST),
        WALLET.signatures(DIGEST).sigPair[0].ed25519,
    ),
    (OWNER_ADDRESS, "hbarAllowance(address)", SPENDER_ADDRESS),
    (HSS, "hasScheduleCapacity(uint256,uint256)", 5, 5),
    (HSS, "getScheduledCreateFungibleTokenInfo(address)", long_zero(SCHEDULE)),
    (HSS, "getScheduledCreateNonFungibleTokenInfo(address)", long_zero(UNIQUE_SCHEDULE)),
]


@pytest.fixture
def ledger(build):
    build.block(7)
    for number in (TREASURY, CALLER, COLLECTOR, RENEWER):
        build.entity(number)
    build.entity(OWNER, evm_address=OWNER_ADDRESS, alias=OWNER_ADDRESS, key=WALLET.key)
    build.entity(SPENDER, evm_address=SPENDER_ADDRESS)
    for number in (TOKEN, UNIQUE):
        build.entity(number, type="TOKEN", auto_renew_account_id=RENEWER)
        fee: Any = {"amount": 1, "denominating_token_id": None, "all_collectors_are_exempt": False}
        build.custom_fee(number, fixed_fees=[fee | {"collector_account_id": COLLECTOR}])
    build.token(TOKEN, total_supply=60, kyc_key=WALLET.key)
    build.token(UNIQUE, type="NON_FUNGIBLE_UNIQUE", total_supply=1)
    build.holding(TOKEN, account=OWNER, balance=60)
    build.holding(UNIQUE, account=OWNER, balance=1)
    build.nft(UNIQUE, 1, account=OWNER, spender=SPENDER)
    build.allowance("token", owner=OWNER, spender=SPENDER, token_id=TOKEN)
    build.allowance("nft", owner=OWNER, spender=SPENDER, token_id=UNIQUE)
    build.allowance("crypto", owner=OWNER, spender=SPENDER)
    for number, unique in ((SCHEDULE, 0), (UNIQUE_SCHEDULE, 1)):
        collected: Any = {"fixed_fee": {"amount": 1}, "fee_collector_account_id": {"accountNum": COLLECTOR}}
        token = {"name": "Gold", "symbol": "G", "tokenType": unique, "treasury": {"accountNum": TREASURY}}
        token |= {"expiry": {"seconds": 4_000_000_000}}
        body = SchedulableTransactionBody(tokenCreation=token | {"custom_fees": [collected]})
        build.entity(number, type="SCHEDULE")
        build.schedule(number, transaction_body=body.SerializeToString(), consensus_timestamp=START)
    return build


def data_of(signature, *values):
    return selector_of(signature) + encode(parameters_of(signature), values)


def test_every_view_is_tested_here():
    views = [
        function.selector
        for service in SERVICES.values()
        for table in (service.functions, service.proxy_functions)
        for function in table.values()
        if function.static and not function.writes
    ]
    assert set(views) <= {selector_of(signature) for _, signature, *_ in VIEWS}


@STATES
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view[1])
def test_view_takes_three_statements_or_none_once_cached(ledger, state_of, view):
    to, signature, *values = view
    cache.reset()
    counts = []
    for _ in range(2):
        # Every call reads who is called and who pays, and has a chain id.
        state = state_of()
        state.begin(to, [long_zero(CALLER)])
        chain_id()
        with CaptureQueriesContext(connection) as statements:
            assert run(state, to, data_of(signature, *values)).status is Status.SUCCESS
        counts.append(len(statements))
    cold, warm = counts
    assert cold <= 3 + MORE_IN_THE_PAST * (state_of is not current)
    assert warm == 0
