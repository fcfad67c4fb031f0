"""Whatever arguments a function of a system contract gets: it answers, refuses or halts, and never fails."""

from random import Random
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_abi.grammar import parse

from mirror.core.values.hapi.messages import ContractID, Key, SchedulableTransactionBody
from mirror.demo.streams.keys import EcdsaWallet, Ed25519Wallet
from tests.build import START
from tests.web3sim.state.states import at, current, journal, long_zero
from tests.web3sim.system_contracts.calls import CALLER, words
from web3sim.engine.interface import SystemCall
from web3sim.system_contracts.contracts import SERVICES, NetworkContracts

TREASURY, OWNER, CONTRACT, TOKEN, UNIQUE, ODD, SCHEDULE = 1001, 2001, 5001, 3001, 3002, 3003, 4001
OWNER_ADDRESS = bytes([0x83]) * 20
ADDRESSES = (
    *(long_zero(number) for number in (0, 98, 0x167, CALLER, TREASURY, OWNER, CONTRACT)),
    *(long_zero(number) for number in (TOKEN, UNIQUE, ODD, SCHEDULE, 2999)),
    *(OWNER_ADDRESS, b"\xff" * 20, (2**63).to_bytes(20, "big")),
)
WALLET = Ed25519Wallet("one")
BYTES = (
    *(b"", b"\xff", bytes(32), bytes(64), b"\x1b" * 65, b"name", b"\xc3\x28" * 60),
    *(WALLET.public, EcdsaWallet("two").public, WALLET.signatures(b"").SerializeToString()),
)
TEXTS = ("", "Gold", "ä" * 60, "\0", "x" * 101)
NUMBERS = (0, 1, 2, 3, 7, 22, 100, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64, 2**255, 2**256 - 1)
FEES = {"amount": -1, "denominating_token_id": 2999, "collector_account_id": None}


@pytest.fixture
def ledger(build):
    build.block(7)
    for number in (98, CALLER, TREASURY):
        build.entity(number, balance=10**12, key=WALLET.key)
    build.entity(OWNER, evm_address=OWNER_ADDRESS, alias=b"\1\2", max_automatic_token_associations=-1)
    build.entity(
        CONTRACT, type="CONTRACT", key=Key(contractID=ContractID(contractNum=-5)).SerializeToString()
    )
    for number in (TOKEN, UNIQUE, ODD):
        build.entity(number, type="TOKEN", key=WALLET.key)
        build.holding(number, account=TREASURY, balance=5)
        build.holding(number, account=OWNER, balance=2)
    keys = dict.fromkeys(("kyc_key", "freeze_key", "wipe_key", "supply_key", "pause_key"), WALLET.key)
    build.token(TOKEN, total_supply=7, pause_status="UNPAUSED", **keys)
    build.token(UNIQUE, type="NON_FUNGIBLE_UNIQUE", total_supply=7, fee_schedule_key=WALLET.key, **keys)
    odd = dict.fromkeys(("kyc_key", "freeze_key", "wipe_key", "supply_key"), b"\xff")
    build.token(ODD, decimals=2**32 - 1, total_supply=-1, max_supply=2**63 - 1, **odd)
    build.custom_fee(ODD, fixed_fees=[FEES], fractional_fees=[{"numerator": 1, "denominator": 0, **FEES}])
    for serial in (1, 2):
        build.nft(UNIQUE, serial, account=OWNER, spender=CONTRACT)
    build.entity(SCHEDULE, type="SCHEDULE", key=WALLET.key)
    body = SchedulableTransactionBody(tokenCreation={"name": "Gold"}).SerializeToString()
    build.schedule(SCHEDULE, transaction_body=body)
    return build


def some(choose: Random, kind: Any) -> Any:
    """A value of a parsed ABI type."""
    if kind.is_array:
        return [some(choose, kind.item_type) for _ in range(choose.choice((0, 1, 1, 2)))]
    components = getattr(kind, "components", None)
    if components is not None:
        return tuple(some(choose, part) for part in components)
    if kind.base == "address":
        return choose.choice(ADDRESSES)
    if kind.base == "string":
        return choose.choice(TEXTS)
    if kind.base == "bytes":
        return choose.choice(BYTES)
    if kind.base == "bool":
        return choose.random() < 0.5
    highest = 2 ** (kind.sub - (kind.base == "int")) - 1
    number = min(choose.choice(NUMBERS), highest)
    return -number if kind.base == "int" and choose.random() < 0.2 else number


@pytest.mark.parametrize("state_of", [current, lambda: at(START + 100)], ids=["now", "then"])
def test_a_function_answers_refuses_or_halts(ledger, state_of):
    choose = Random(6)
    functions = [
        (address, service, function, function is service.proxy_functions.get(selector))
        for address, service in SERVICES.items()
        for table in (service.functions, service.proxy_functions)
        for selector, function in table.items()
    ]
    state = state_of()
    contracts = NetworkContracts(state)
    outcomes = set()
    for address, service, function, proxied in functions * 8:
        values = [some(choose, parse(kind)) for kind in function.parameters]
        data = function.selector + encode(function.parameters, values)
        if choose.random() < 0.1:
            data = data[: choose.randrange(len(data) + 1)]
        if proxied:
            assert service.redirect is not None
            target = choose.choice(ADDRESSES)
            data = (
                service.redirect + words(target, 64, len(data)) + data.ljust(-(-len(data) // 32) * 32, b"\0")
            )
        sender = long_zero(choose.choice((CALLER, TREASURY, CONTRACT)))
        value = choose.choice((0, 0, 10**10)) if function.signature.startswith("create") else 0
        static = choose.random() < 0.2
        call = SystemCall(address, address, sender, data, value, 10**6, static=static, depth=0, origin=sender)
        answer = contracts.call(call, journal(state))
        outcomes.add((answer.halt is not None, answer.reverted, answer.child not in (None, "SUCCESS")))
    # Answers, refusals by code and by a revert, halts, and too little gas.
    assert len(outcomes) == 5
