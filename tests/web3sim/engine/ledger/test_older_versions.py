"""Older versions of a ledger network's EVM: operations that they lack, and calls that they forbid."""

from typing import Any

import pytest

from tests.web3sim.engine.system import System
from tests.web3sim.engine.world import (
    BLOCK,
    CONTRACT,
    NOBODY,
    OTHER,
    RETURN_TOP,
    SENDER,
    World,
    calling,
    code,
    long_zero,
    word,
)
from web3sim.engine.interface import (
    AccountRecord,
    CallRequest,
    CallResult,
    FrameEnd,
    FrameStart,
    Halt,
    Status,
    Step,
    SystemAnswer,
)
from web3sim.engine.ledger.intrinsic_gas import intrinsic_gas
from web3sim.engine.registry import engine
from web3sim.engine.versions import (
    LATEST,
    MAINNET,
    V030,
    V034,
    V038,
    V046,
    V050,
    V051,
    V065,
    V067,
    VERSIONS,
    EvmVersion,
)

INVALID = (Status.HALT, Halt.INVALID_OPCODE)
SUCCESS = (Status.SUCCESS, None)
EVERY = tuple(VERSIONS.values())


@pytest.fixture
def world() -> World:
    return World({SENDER: AccountRecord(balance=10**9)})


def run(world: World, version: EvmVersion, **given: Any) -> CallResult:
    defaults: dict[str, Any] = {"sender": SENDER, "to": CONTRACT, "data": b"", "gas": 1_000_000}
    system = given.pop("system", None)
    request = CallRequest(**(defaults | given), version=version)
    results = [engine(name).execute(request, BLOCK, world, system) for name in ("pyevm", "pyevm-blocks")]
    assert results[0] == results[1]
    return results[0]


def outcome(result: CallResult) -> tuple[Status, Halt | None]:
    return result.status, result.halt


def test_versions_are_in_their_order():
    assert sorted(EVERY) == list(EVERY)
    # Those after the newest have no block yet.
    assert list(MAINNET.values()) == list(EVERY[: len(MAINNET)])
    assert EVERY[len(MAINNET) - 1] == LATEST
    assert sorted(MAINNET) == list(MAINNET)


@pytest.mark.parametrize("version", EVERY, ids=lambda version: version.text)
@pytest.mark.parametrize(
    ("operations", "since"),
    [
        ((bytes([0x5F]),), V038),
        ((1, 2, bytes([0x5D])), V050),
        ((1, bytes([0x5C])), V050),
        ((0, 0, 0, bytes([0x5E])), V050),
        ((0, bytes([0x49])), V050),
        ((bytes([0x4A]),), V050),
        (("DIFFICULTY",), V030),
    ],
    ids=["PUSH0", "TSTORE", "TLOAD", "MCOPY", "BLOBHASH", "BLOBBASEFEE", "PREVRANDAO"],
)
def test_an_operation_is_there_since_its_version(world, version, operations, since):
    raw = b"".join(each if isinstance(each, bytes) else code(each) for each in operations)
    world.accounts[CONTRACT] = AccountRecord(code=raw, nonce=1)
    assert outcome(run(world, version)) == (SUCCESS if version >= since else INVALID)


@pytest.mark.parametrize("version", [V030, V046, V050, V067], ids=lambda version: version.text)
def test_points_are_evaluated_since_cancun(world, version):
    world.contract(CONTRACT, *calling(long_zero(10), data=b"\1"), *RETURN_TOP)
    world.accounts[long_zero(10)] = AccountRecord(balance=1)
    # Before it is an account like others, and the call succeeds.
    assert word(run(world, version, gas=3_000_000).output) == (0 if version >= V050 else 1)


@pytest.mark.parametrize("version", EVERY, ids=lambda version: version.text)
def test_the_account_service_is_there_in_all_versions(world, version):
    world.contract(CONTRACT, *calling(long_zero(0x16A), gas=50_000), *RETURN_TOP)
    system = System(SystemAnswer(gas=5), long_zero(0x16A))
    run(world, version, system=system)
    assert system.calls


@pytest.mark.parametrize("version", [V046, V050, V067], ids=lambda version: version.text)
def test_a_contract_is_gone_for_good_until_cancun(world, version):
    world.contract(CONTRACT, SENDER, "SELFDESTRUCT")
    assert run(world, version).deleted == (() if version >= V050 else (CONTRACT,))


@pytest.mark.parametrize("version", [V034, V038, V067], ids=lambda version: version.text)
def test_balances_of_system_accounts_were_visible_at_first(world, version):
    world.accounts[long_zero(98)] = AccountRecord(balance=5)
    world.contract(CONTRACT, long_zero(98), "BALANCE", *RETURN_TOP)
    assert word(run(world, version).output) == (0 if version >= V038 else 5)


@pytest.mark.parametrize("version", [V030, V038, V046, V067], ids=lambda version: version.text)
@pytest.mark.parametrize(
    "looks", [*("BALANCE", "EXTCODESIZE", "EXTCODEHASH", "EXTCODECOPY"), "CALL", "STATICCALL"]
)
def test_operations_on_a_missing_account_halted_at_first(world, version, looks):
    operations = {
        "EXTCODECOPY": (0, 0, 0, NOBODY, "EXTCODECOPY"),
        "CALL": calling(NOBODY),
        "STATICCALL": calling(NOBODY, kind="STATICCALL"),
    }.get(looks, (NOBODY, looks))
    world.contract(CONTRACT, *operations, "STOP")
    forbidden = (Status.HALT, Halt.INVALID_ADDRESS)
    assert outcome(run(world, version)) == (SUCCESS if version >= V046 else forbidden)
    world.contract(NOBODY)
    assert outcome(run(world, version)) == SUCCESS
    # The operations need what they take from the stack, as ever.
    world.accounts[CONTRACT] = AccountRecord(code=code(looks), nonce=1)
    assert outcome(run(world, version)) == (Status.HALT, Halt.STACK_UNDERFLOW)


@pytest.mark.parametrize("version", EVERY, ids=lambda version: version.text)
def test_a_call_of_a_missing_account_failed_at_first(world, version):
    forbidden = (Status.HALT, Halt.INVALID_CONTRACT)
    assert outcome(run(world, version, to=NOBODY)) == (SUCCESS if version >= V046 else forbidden)
    assert outcome(run(world, version, to=NOBODY, value=1)) == (SUCCESS if version >= V034 else forbidden)
    assert outcome(run(world, version, to=long_zero(4))) == SUCCESS


@pytest.mark.parametrize("version", [V030, V034, V067], ids=lambda version: version.text)
def test_a_transfer_makes_an_account_since_0_34(world, version):
    world.contract(CONTRACT, *calling(NOBODY, value=1), *RETURN_TOP)
    world.accounts[CONTRACT] = AccountRecord(code=world.accounts[CONTRACT].code, nonce=1, balance=9)
    result = run(world, version)
    if version < V034:
        assert outcome(result) == (Status.HALT, Halt.INVALID_ADDRESS)
    else:
        assert (word(result.output), result.balances[NOBODY]) == (1, 1)


@pytest.mark.parametrize("operation", ["CREATE", "CREATE2"])
def test_creation_costs_the_same_in_all_versions(world, operation):
    salt = (1,) if operation == "CREATE2" else ()
    # Init code of 64 zero bytes, which stops at once.
    world.contract(CONTRACT, *salt, 64, 0, 0, operation, *RETURN_TOP)
    results = [run(world, version) for version in EVERY]
    assert len({(result.created, result.execution_gas) for result in results}) == 1
    initcode = code(0, 0, "RETURN").ljust(64, b"\0")
    result = run(world, V030, to=None, data=initcode, new_contract_address=long_zero(5001))
    assert result.intrinsic_gas == intrinsic_gas(initcode, creates=True)


def test_an_older_version_can_be_traced(world):
    class StepRecorder:
        trace_steps = True
        trace_stack = trace_memory = trace_storage = False
        operations: list[str] = []

        def frame_start(self, frame: FrameStart) -> None:
            pass

        def step(self, step: Step) -> None:
            self.operations.append(step.op)

        def frame_end(self, frame: FrameEnd) -> None:
            pass

    world.contract(OTHER, "STOP")
    world.contract(CONTRACT, *calling(OTHER), NOBODY, "BALANCE")
    request = CallRequest(sender=SENDER, to=CONTRACT, data=b"", gas=1_000_000, version=V038)
    result = engine("pyevm-blocks").execute(request, BLOCK, world, None, StepRecorder())
    assert StepRecorder.operations[-4:] == ["CALL", "STOP", "PUSH20", "BALANCE"]
    assert outcome(result) == (Status.HALT, Halt.INVALID_ADDRESS)


def test_a_program_comes_to_the_same_in_all_later_versions(world):
    world.contract(OTHER, 2, 1, "SSTORE", 1, 0, "MSTORE", 32, 0, "RETURN")
    world.contract(CONTRACT, *calling(OTHER), *RETURN_TOP)
    assert run(world, V051) == run(world, V065) == run(world, V067) == run(world, V050)
    assert run(world, V030).output == run(world, V067).output
