"""What a call can't do: outlast its deadline, fill the memory, recurse too deeply, hide a reader's errors."""

import threading
import time
import tracemalloc
from collections.abc import Callable

import pytest

from tests.web3sim.engine.world import (
    BLOCK,
    CONTRACT,
    ENGINES,
    LONG_PRECOMPILES,
    NOBODY,
    OTHER,
    RETURN_TOP,
    SENDER,
    calling,
    code,
    long_zero,
    word,
)
from web3sim.engine.interface import (
    AccountRecord,
    CallRequest,
    CallResult,
    DeadlinePassed,
    Halt,
    InsufficientFunds,
    Profile,
    Status,
)

MEGABYTE = 2**20
FOREVER = ("JUMPDEST", 0, "JUMP")


class DatabaseError(Exception):
    pass


# TIME


@pytest.mark.parametrize(
    "operations",
    [
        FOREVER,
        ("JUMPDEST", *calling(OTHER), "POP", 0, "JUMP"),
        ("JUMPDEST", *calling(long_zero(2)), "POP", 0, "JUMP"),
    ],
    ids=["a loop", "calls", "a precompiled contract"],
)
def test_a_call_ends_at_its_deadline(run, world, operations):
    world.contract(CONTRACT, *operations)
    world.contract(OTHER, "STOP")

    with pytest.raises(DeadlinePassed):
        run(gas=10**12, deadline=time.monotonic() + 0.05)


@pytest.mark.parametrize("operations", LONG_PRECOMPILES.values(), ids=LONG_PRECOMPILES)
def test_one_call_of_a_precompiled_contract_ends_at_its_deadline(run, world, operations):
    world.contract(CONTRACT, *operations)

    with pytest.raises(DeadlinePassed):
        run(gas=10**14, deadline=time.monotonic() + 0.05)


def test_a_call_whose_deadline_is_over_does_not_begin(run):
    with pytest.raises(DeadlinePassed):
        run(deadline=time.monotonic() - 1)


# ERRORS


@pytest.mark.parametrize(
    "operations",
    [
        calling(NOBODY),
        (NOBODY, "BALANCE"),
        (1, "SLOAD"),
        (1, 1, "SSTORE"),
        (0, 0, 0, "CREATE"),
        (5, "BLOCKHASH"),
    ],
    ids=lambda operations: operations[-1],
)
def test_an_error_of_the_reader_ends_the_call(run, world, operations):
    inner = bytes([0x1A]) * 20
    world.contract(CONTRACT, *calling(inner))
    world.contract(inner, *operations)
    accounts = dict(world.accounts)

    def fail(*_):
        raise DatabaseError("The statement took too long.")

    world.account = lambda address: accounts[address] if address in accounts else fail()
    world.slot = world.block_hash = fail

    with pytest.raises(DatabaseError):
        run()


def test_less_gas_than_the_message_costs_uses_it_all(run, world):
    result = run(data=b"\1", gas=21_015)

    assert (result.status, result.halt) == (Status.HALT, Halt.OUT_OF_GAS)
    assert (result.gas_used, result.intrinsic_gas, result.execution_gas) == (21_015, 21_016, 0)
    assert world.asked == []
    assert run(data=b"\1", gas=21_016).status is Status.SUCCESS


def test_sender_needs_its_balance(run):
    with pytest.raises(InsufficientFunds):
        run(sender=NOBODY, value=1)


def test_contract_that_sends_too_much_continues(run, world):
    world.contract(CONTRACT, *calling(OTHER, value=6), *RETURN_TOP, balance=5)

    assert word(run().output) == 0


def test_nothing_is_created_where_a_contract_is(run, world):
    world.contract(OTHER, "STOP")

    result = run(to=None, new_contract_address=OTHER)

    assert (result.halt, result.gas_used, result.created) == (Halt.CREATION_COLLISION, 1_000_000, ())


def test_a_creation_without_an_address_follows_the_senders_nonce(run, world):
    world.accounts[SENDER] = AccountRecord(nonce=5)

    first = run(to=None).created
    world.accounts[SENDER] = AccountRecord(nonce=6)

    assert len(first) == 1
    assert run(to=None).created != first


# DEPTH


def _in_a_thread(action: Callable[[], CallResult]) -> CallResult:
    answers: list[CallResult] = []
    thread = threading.Thread(target=lambda: answers.append(action()))
    thread.start()
    thread.join()
    return answers[0]


@pytest.mark.parametrize("gas", [15_000_000, 10**12], ids=["as a call may", "to the deepest"])
def test_recursion_works_in_a_thread(run, world, gas):
    world.contract(CONTRACT, 0, 0, 0, 0, 0, "ADDRESS", "GAS", "CALL", *RETURN_TOP)

    assert _in_a_thread(lambda: run(gas=gas)).status is Status.SUCCESS


def test_a_destination_behind_pushes_of_pushes_is_found(run):
    pushes = bytes([0x60]) * 131_000
    init = code(len(pushes) + 6, "JUMP").ljust(6, b"\0") + pushes + code("JUMPDEST", "STOP")

    assert run(to=None, data=init, gas=15_000_000).status is Status.SUCCESS


# MEMORY


def _peak(action) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "callee", [("STOP",), (0, 0, "REVERT"), ("INVALID",)], ids=["stops", "reverts", "halts"]
)
@pytest.mark.parametrize("name", ENGINES)
def test_finished_frames_hold_no_memory(world, name, callee):
    """Each of 300 calls is given a copy of the caller's megabyte, for next to no gas."""
    operations = [
        operation for _ in range(300) for operation in (0, 0, MEGABYTE, 0, 0, OTHER, 3_000, "CALL", "POP")
    ]
    world.contract(CONTRACT, *operations)
    world.accounts[OTHER] = AccountRecord(code=b"\xfe" if callee == ("INVALID",) else code(*callee))
    request = CallRequest(SENDER, CONTRACT, b"", 15_000_000, profile=Profile.ETHEREUM)

    assert _peak(lambda: ENGINES[name].execute(request, BLOCK, world)) < 8 * MEGABYTE


@pytest.mark.parametrize("name", ENGINES)
def test_all_the_memory_that_gas_buys_is_bounded(world, name):
    """Every frame of a recursion grows as far as it is worth."""
    world.contract(CONTRACT, 0, 60_000, "MSTORE8", 60_000, 0, 60_000, 0, 0, "ADDRESS", "GAS", "CALL")
    request = CallRequest(SENDER, CONTRACT, b"", 15_000_000, profile=Profile.ETHEREUM)

    assert _peak(lambda: ENGINES[name].execute(request, BLOCK, world)) < 200 * MEGABYTE


# REVERTS


def test_a_reverted_frame_leaves_no_trace(run, world):
    inner = bytes([0x1A]) * 20
    world.slots[inner, 1] = 7
    world.accounts[OTHER] = AccountRecord(balance=1)
    world.contract(
        inner,
        *(9, 1, "SSTORE", 9, 1, "TSTORE", 0, 0, "LOG0"),
        *(*calling(OTHER, value=2), 0, 0, 0, "CREATE", 0, 0, "REVERT"),
        balance=5,
    )
    world.contract(CONTRACT, *calling(inner), OTHER, "BALANCE", "ADD", *RETURN_TOP)

    result = run()

    assert word(result.output) == 1
    assert (result.logs, result.created, result.balances, result.refund) == ((), (), {}, 0)
    assert {slot: change.written for slot, change in result.slots.items()} == {(inner, 1): None}


def test_warmth_is_lost_with_a_revert(run, world):
    inner = bytes([0x1A]) * 20
    world.contract(inner, NOBODY, "BALANCE", 1, "SLOAD", 0, 0, "REVERT")
    looks = ("GAS", NOBODY, "BALANCE", "POP", "GAS", "SWAP1", "SUB", *RETURN_TOP)
    world.contract(CONTRACT, *calling(inner), "POP", *looks)

    cold = word(run().output)
    world.contract(inner, NOBODY, "BALANCE", 1, "SLOAD")

    assert cold - word(run().output) == 2_500


def test_the_same_contract_destroyed_twice_is_deleted_once(run, world):
    world.accounts[OTHER] = AccountRecord(balance=1)
    # Called without data it calls itself with a byte, and destroys itself in both frames.
    body = code(
        *("CALLDATASIZE", 44, "JUMPI", 0, 0, 1, 0, 0, "ADDRESS", "GAS", "CALL", "POP", OTHER, "SELFDESTRUCT")
    )
    body = body.ljust(44, b"\0") + code("JUMPDEST", OTHER, "SELFDESTRUCT")
    deploy = code(len(body), 12, 0, "CODECOPY", len(body), 0, "RETURN").ljust(12, b"\0") + body
    stored = [
        operation
        for start in range(0, len(deploy), 32)
        for operation in (deploy[start : start + 32].ljust(32, b"\0"), start, "MSTORE")
    ]
    creates = (*stored, len(deploy), 0, 0, "CREATE")
    world.contract(CONTRACT, *creates, 0, 0, 0, 0, 0, "DUP6", "GAS", "CALL", "POP", *RETURN_TOP)

    result = run()

    assert result.status is Status.SUCCESS
    assert result.deleted == result.created == (result.output[12:],)
