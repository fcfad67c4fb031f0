"""Version 0.70 and later: least price of call data (EIP-7623), code delegations (EIP-7702, HIP-1340)."""

import pytest

from mirror.core.values.hashes import keccak256
from tests.web3sim.engine.system import TAKES_VALUE, TOKEN_SERVICE, System
from tests.web3sim.engine.world import (
    CONTRACT,
    NOBODY,
    OTHER,
    RETURN_TOP,
    SENDER,
    World,
    calling,
    code,
    execution_gas_of,
    long_zero,
    word,
)
from web3sim.engine.interface import (
    AccountKind,
    AccountRecord,
    Halt,
    Status,
    SystemAnswer,
    delegation_to,
    get_delegate,
)
from web3sim.engine.versions import V067, V070, V077

INTRINSIC = 21_000
CALL_KINDS = ("CALL", "CALLCODE", "DELEGATECALL", "STATICCALL")
DELEGATING = bytes([0xDE]) * 20
TOKEN = long_zero(3_000)


def delegate(world: World, to: bytes, address: bytes = DELEGATING) -> bytes:
    world.accounts[address] = AccountRecord(balance=5, code=delegation_to(to), entity_id=4_000)
    return address


# CALL DATA


@pytest.mark.parametrize(
    ("data", "price", "least"),
    [(b"", 0, 0), (bytes(100), 400, 1_000), (b"\1" * 100, 1_600, 4_000), (b"\1\0", 20, 50)],
    ids=["none", "zeros", "others", "both"],
)
def test_data_has_a_least_price(run, data, price, least):
    assert run(to=NOBODY, data=data, version=V067).gas_used == INTRINSIC + price
    for version in (V070, V077):
        assert run(to=NOBODY, data=data, version=version).gas_used == INTRINSIC + least
        assert run(to=NOBODY, data=data, version=version, gas=INTRINSIC + least).status is Status.SUCCESS
        if least:
            below = run(to=NOBODY, data=data, version=version, gas=INTRINSIC + least - 1)
            assert (below.halt, below.gas_used) == (Halt.OUT_OF_GAS, INTRINSIC + least - 1)


def test_execution_counts_for_the_least_price_of_data(run, world):
    world.contract(CONTRACT, *(NOBODY, "BALANCE") * 2)

    assert run(data=b"\1" * 100, version=V070).gas_used == INTRINSIC + 1_600 + 2 * 3 + 2_600 + 100


def test_refunds_do_not_go_below_the_least_price_of_data(run, world):
    world.slots[CONTRACT, 1] = 1
    world.contract(CONTRACT, 0, 1, "SSTORE")

    assert run(data=b"\1" * 200, version=V070).gas_used == INTRINSIC + 200 * 40
    assert run(data=b"\1" * 200, version=V067).gas_used == INTRINSIC + 3_200 + 6 + 5_000 - 4_800


# DELEGATIONS


def test_a_delegation_is_the_prefix_and_the_address():
    assert delegation_to(OTHER) == bytes.fromhex("ef0100") + OTHER
    assert get_delegate(delegation_to(OTHER)) == OTHER
    for other in (
        b"",
        bytes.fromhex("ef0100"),
        bytes.fromhex("ef0101") + OTHER,
        delegation_to(OTHER) + b"\0",
    ):
        assert get_delegate(other) is None


def test_a_message_runs_the_delegates_code_at_the_account(run, world):
    world.contract(CONTRACT, 7, 1, "SSTORE", "ADDRESS", *RETURN_TOP)
    account = delegate(world, CONTRACT)

    result = run(to=account, version=V070)

    assert word(result.output) == int.from_bytes(account)
    assert [(address, change.written) for (address, _), change in result.slots.items()] == [(account, 7)]


def test_the_delegate_of_a_message_is_warm(run, world):
    world.contract(CONTRACT, CONTRACT, "BALANCE")

    assert run(to=delegate(world, CONTRACT), version=V070).execution_gas == 3 + 100


@pytest.mark.parametrize("kind", CALL_KINDS)
def test_a_call_runs_the_delegates_code_and_pays_for_access_to_both(run, world, kind):
    world.contract(OTHER, "ADDRESS", *RETURN_TOP)
    pushes = 3 * (7 if kind in ("CALL", "CALLCODE") else 6)
    own = execution_gas_of(lambda: run(to=OTHER), world)
    to = delegate(world, OTHER)
    world.contract(CONTRACT, *calling(to, kind=kind), 32, 0, 0, "RETURNDATACOPY", 32, 0, "RETURN")
    result = run(version=V070)
    at = to if kind in ("CALL", "STATICCALL") else CONTRACT

    assert word(result.output) == int.from_bytes(at)
    copied = 3 * 3 + 3 + 3 + 3 + 2 * 3
    assert result.execution_gas == pushes + 2_600 + 2_600 + own + copied
    world.contract(CONTRACT, *calling(to, kind=kind), *calling(to, kind=kind))
    assert run(version=V070).execution_gas == 2 * pushes + 2 * 2_600 + 2 * 100 + 2 * own


def test_a_call_halts_without_the_gas_of_the_delegate(run, world):
    world.contract(OTHER, "STOP")
    world.contract(CONTRACT, *calling(delegate(world, OTHER), gas=0))
    enough = INTRINSIC + 21 + 2 * 2_600

    assert run(version=V070, gas=enough).gas_used == enough
    assert run(version=V070, gas=enough - 1).halt is Halt.OUT_OF_GAS


def test_a_delegation_is_followed_once(run, world):
    first = delegate(world, CONTRACT)
    world.contract(CONTRACT, "STOP")

    assert run(to=delegate(world, first, OTHER), version=V070).halt is Halt.INVALID_OPCODE
    assert run(to=delegate(world, OTHER, OTHER), version=V070).halt is Halt.INVALID_OPCODE


@pytest.mark.parametrize("value", [0, 3])
@pytest.mark.parametrize(
    "to", [NOBODY, SENDER, long_zero(1), long_zero(0x0B), long_zero(98), TOKEN_SERVICE], ids=bytes.hex
)
def test_a_delegation_to_what_has_no_code_does_nothing(run, world, to, value):
    system = System(SystemAnswer(halt=Halt.PRECOMPILE))
    account = delegate(world, to)

    result = run(to=account, value=value, version=V070, system=system)

    assert (result.status, result.output, result.gas_used) == (Status.SUCCESS, b"", INTRINSIC)
    assert result.balances == ({SENDER: 10**18 - 3, account: 8} if value else {})


def test_others_see_the_delegation_and_the_code_itself_the_delegates(run, world):
    account = delegate(world, OTHER)
    world.contract(CONTRACT, account, "EXTCODESIZE", *RETURN_TOP)
    assert word(run(version=V070).output) == 23
    world.contract(CONTRACT, account, "EXTCODEHASH", *RETURN_TOP)
    assert run(version=V070).output == keccak256(delegation_to(OTHER))
    world.contract(CONTRACT, 32, 0, 0, account, "EXTCODECOPY", 32, 0, "RETURN")
    assert run(version=V070).output == delegation_to(OTHER) + bytes(9)
    world.contract(OTHER, "CODESIZE", *RETURN_TOP)
    assert word(run(to=account, version=V070).output) == len(code("CODESIZE", *RETURN_TOP))


def test_a_request_for_the_proxy_of_an_account_comes_before_its_delegation(run, world):
    world.contract(CONTRACT, 5, *RETURN_TOP)
    account = delegate(world, CONTRACT)
    system = System(SystemAnswer())

    assert word(run(to=account, version=V070, system=system).output) == 5
    assert word(run(to=account, data=b"\x86\xaf\xf0\x7c", version=V070, system=system).output) == 7


# TOKENS AND SCHEDULES, whose code is a delegation


@pytest.fixture
def token(world) -> bytes:
    world.accounts[TOKEN] = AccountRecord(
        code=delegation_to(TOKEN_SERVICE), kind=AccountKind.TOKEN, entity_id=3_000
    )
    return TOKEN


@pytest.mark.parametrize("kind", ["CALL", "STATICCALL"])
def test_a_call_of_a_token_reaches_its_service_as_it_is(run, world, token, kind):
    system = System(SystemAnswer(output=b"\x2a".rjust(32, b"\0"), gas=2_607))
    data = bytes(range(36))[:32]
    world.contract(
        CONTRACT, *calling(token, kind=kind, data=data), 32, 0, 0, "RETURNDATACOPY", 32, 0, "RETURN"
    )

    result = run(version=V077, system=system)

    assert word(result.output) == 42
    (call,) = system.calls
    assert (call.address, call.recipient, call.sender, call.data) == (TOKEN_SERVICE, token, CONTRACT, data)
    assert (call.by_delegation, call.static, call.sender_is_delegated) == (True, kind == "STATICCALL", False)


def test_a_request_for_a_token_costs_its_service_alone(run, token):
    system = System(SystemAnswer(gas=2_607))

    assert run(to=token, version=V077, system=system).gas_used == INTRINSIC + 2_607


def test_a_contract_whose_code_another_runs_may_call_a_token(run, world, token):
    system = System(SystemAnswer())
    world.contract(OTHER, *calling(token), *RETURN_TOP)
    world.contract(CONTRACT, *calling(OTHER, kind="DELEGATECALL"))

    assert run(version=V077, system=system).status is Status.SUCCESS
    (call,) = system.calls
    assert (call.sender, call.sender_is_delegated) == (CONTRACT, True)


@pytest.mark.parametrize("kind", ["DELEGATECALL", "CALLCODE"])
def test_code_of_a_token_does_not_run_elsewhere(run, world, token, kind):
    system = System(SystemAnswer())
    world.contract(CONTRACT, *calling(token, kind=kind), *RETURN_TOP)

    assert word(run(version=V077, system=system).output) == 0
    assert system.calls == []


@pytest.mark.parametrize("data", [b"", TAKES_VALUE])
def test_value_for_a_token_ends_the_whole_call(run, world, token, data):
    system = System(SystemAnswer())
    world.contract(CONTRACT, *calling(token, value=1, data=data), *RETURN_TOP, balance=5)

    assert run(version=V077, system=system).halt is Halt.INVALID_CONTRACT
    assert run(to=token, value=1, data=data, version=V077, system=system).halt is Halt.INVALID_CONTRACT
    world.accounts[TOKEN] = AccountRecord(kind=AccountKind.TOKEN, entity_id=3_000)
    assert run(to=token, value=1, version=V070, system=system).halt is Halt.STATIC_CHANGE
