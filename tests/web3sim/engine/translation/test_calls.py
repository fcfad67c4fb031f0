"""Calls of translated code: the library's rules, without its set-up and without copies of long input."""

import random
import tracemalloc
from typing import Any

import pytest

from tests.web3sim.engine.world import BLOCK, CONTRACT, ENGINES, NOBODY, OTHER, SENDER, World, code, long_zero
from web3sim.engine.interface import AccountRecord, CallRequest, CallResult, Profile, Status
from web3sim.engine.translation.engine import TranslatedEngine

MEGABYTE = 2**20
LONG = (1_023, 1_024, 1_025, 3_000)


def _world(caller: bytes, callee: bytes = b"") -> World:
    return World(
        {
            SENDER: AccountRecord(balance=10**9),
            CONTRACT: AccountRecord(balance=5_000, nonce=1, code=caller),
            OTHER: AccountRecord(nonce=1, code=callee),
        }
    )


def _same(world: World, **given: Any) -> CallResult:
    request = CallRequest(SENDER, CONTRACT, b"", 10**6, profile=Profile.ETHEREUM)._replace(**given)
    expected = ENGINES["pyevm"].execute(request, BLOCK, world)
    for _ in range(2):
        assert ENGINES["pyevm-blocks, eager"].execute(request, BLOCK, world) == expected
        assert ENGINES["pyevm-blocks"].execute(request, BLOCK, world) == expected
    return expected


# LONG INPUT


def _reading(offset: int) -> bytes:
    """Returns the word of its input at an offset, and 64 bytes copied from there."""
    copied = code(64, offset, 32, "CALLDATACOPY")
    return code(offset, "CALLDATALOAD", 0, "MSTORE") + copied + code(96, 0, "RETURN")


@pytest.mark.parametrize("size", LONG)
@pytest.mark.parametrize("place", [-1_000, -33, -32, -31, -1, 0, 1, 2**255])
def test_zeros_follow_long_input(size, place):
    filled = code(size, 0, 0, "CODECOPY")
    call = code(96, 0, size, 0, 0, OTHER, 500_000, "CALL", "POP", 96, 0, "RETURN")

    result = _same(_world(filled + call, _reading(size + place)))

    assert result.status is Status.SUCCESS


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
def test_precompiled_contracts_read_long_input(number):
    filled = code(2_000, 0, 0, "CODECOPY")
    call = code(200, 0, 2_000, 0, 0, long_zero(number), 500_000, "CALL", 0, "MSTORE", 200, 0, "RETURN")

    _same(_world(filled + call))


def test_long_input_is_not_copied():
    caller = code(0, MEGABYTE - 1, "MSTORE8", 0, 0, MEGABYTE, 0, 0, OTHER, 500_000, "CALL")
    callee = code(0, "CALLDATALOAD", "CALLDATASIZE", "SSTORE", "STOP")
    request = CallRequest(SENDER, CONTRACT, b"", 10**7, profile=Profile.ETHEREUM)
    engine, world = TranslatedEngine(arrivals=0), _world(caller, callee)
    engine.execute(request, BLOCK, world)

    tracemalloc.start()
    result = engine.execute(request, BLOCK, world)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert result.slots[OTHER, MEGABYTE].written == 0
    # The memory, and what it's filled with when it grows.
    assert peak < 2.5 * MEGABYTE


# THE RULES


@pytest.mark.parametrize("kind", ["CALL", "CALLCODE", "DELEGATECALL", "STATICCALL"])
@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("to", [OTHER, NOBODY, CONTRACT, long_zero(4)])
def test_each_kind_of_call_is_the_librarys_with_any_gas(kind, static, to):
    callee = code("CALLER", 0, "MSTORE", "ADDRESS", 32, "MSTORE", "CALLVALUE", 64, "MSTORE", 96, 0, "RETURN")
    choose = random.Random(f"{kind}{static}{to!r}")
    for value in (0, 7, 10**6):
        sent = (value,) if kind in ("CALL", "CALLCODE") else ()
        wanted = choose.choice((0, 2_300, 50_000, 2**256 - 1))
        call = code(96, 40, 3, 5, *sent, to, wanted, kind, 0, "MSTORE", "GAS", 160, "MSTORE")
        caller = call + code("RETURNDATASIZE", 192, "MSTORE", 256, 0, "RETURN")
        for gas in (21_030, 21_100, 21_140, 23_600, 24_000, 33_000, 58_000, 60_000, 100_000, 10**6):
            _same(_world(caller, callee), gas=gas + choose.randrange(60), static=static)


# WHAT IT TAKES
