"""The operations of a run as JSON."""

import json
import os
from typing import Any

import pytest

from tests.web3sim.engine.programs import program
from tests.web3sim.engine.world import BLOCK, CONTRACT, NOBODY, OTHER, SENDER, World, calling, code, long_zero
from web3sim.engine.interface import AccountRecord, CallRequest, Status, SystemAnswer
from web3sim.engine.registry import engine
from web3sim.past.opcode_entries import OpcodeEntries, decode_reason

IDENTITY, TOKEN_SERVICE = long_zero(4), long_zero(0x167)
SUCCESS_TEXT = bytes.fromhex("08c379a0") + (32).to_bytes(32, "big")


def error(text):
    """Error(string) by hand."""
    return SUCCESS_TEXT + len(text).to_bytes(32, "big") + text.ljust(-(-len(text) // 32) * 32, b"\0")


class Refusing:
    """A token service that refuses everything."""

    def is_system_contract(self, address):
        return address == TOKEN_SERVICE

    def proxied(self, address):
        return None

    def account_code(self, address, data):
        return b""

    def tied_to_tokens(self, address):
        return False

    def call(self, call, journal):
        return SystemAnswer(b"no", gas=100, reverted=True)


def traced(world, *, to=CONTRACT, gas=1_000_000, system=None, reasons=None, **flags):
    """The entries of a call, and the pieces they came in."""
    world.accounts.setdefault(SENDER, AccountRecord(balance=10**9))
    pieces: list[bytes] = []
    entries = OpcodeEntries(
        pieces.append,
        **({"stack": True, "memory": False, "storage": False} | flags),
        is_system=lambda address: system is not None and system.is_system_contract(address),
        reasons=reasons or {},
    )
    request = CallRequest(sender=SENDER, to=to, data=b"", gas=gas)
    engine("pyevm").execute(request, BLOCK, world, system, entries)
    entries.flush()
    return json.loads(b"[" + b"".join(pieces) + b"]"), pieces


def word(number):
    return f"0x{number:064x}"


@pytest.fixture
def world():
    return World()


def test_entry_has_state_after_and_position_of_its_operation(world):
    world.contract(CONTRACT, 5, 7, "ADD", 0, "MSTORE", "STOP")
    entries, _ = traced(world, memory=True)
    assert [entry["pc"] for entry in entries] == [0, 2, 4, 5, 7, 8]
    assert [entry["op"] for entry in entries] == ["PUSH1", "PUSH1", "ADD", "PUSH1", "MSTORE", "STOP"]
    assert [entry["stack"] for entry in entries][:3] == [[word(5)], [word(5), word(7)], [word(12)]]
    assert entries[2]["memory"] == []
    assert entries[4] == {
        "pc": 7,
        "op": "MSTORE",
        "gas": 1_000_000 - 21_000 - 18,
        "gas_cost": 6,
        "depth": 0,
        "stack": [],
        "memory": [word(12)],
        "storage": {},
        "reason": None,
    }


def test_written_slots_of_the_transaction_are_listed_in_order(world):
    world.contract(OTHER, 2, 1, "SSTORE", 9, "SLOAD", "STOP")
    world.contract(CONTRACT, 3, 4, "SSTORE", 0, "SLOAD", *calling(OTHER), "STOP")
    world.slots[CONTRACT, 0] = 7
    entries, _ = traced(world, storage=True)
    shown = [(entry["op"], entry["depth"], list(entry["storage"].items())) for entry in entries]
    slot = {number: (word(number), word(value)) for number, value in {1: 2, 4: 3}.items()}
    told = [each for each in shown if each[0] in ("SLOAD", "SSTORE", "STOP")]
    assert told == [
        ("SSTORE", 0, [slot[4]]),
        ("SLOAD", 0, [slot[4]]),
        ("SSTORE", 1, [slot[1], slot[4]]),
        ("SLOAD", 1, [slot[1], slot[4]]),
        ("STOP", 1, [slot[1], slot[4]]),
        ("STOP", 0, [slot[1], slot[4]]),
    ]


def test_a_slot_of_a_reverted_frame_was_not_written(world):
    world.contract(OTHER, 2, 1, "SSTORE", 0, 0, "REVERT")
    world.slots[OTHER, 1] = 5
    world.contract(CONTRACT, *calling(OTHER), "STOP")
    entries, _ = traced(world, storage=True)
    assert [entry["storage"] for entry in entries if entry["op"] in ("SSTORE", "REVERT", "STOP")] == [
        {word(1): word(2)},
        {word(1): word(2)},
        {},
    ]


def test_written_slot_wins_among_contracts_of_one_number(world):
    world.contract(OTHER, 6, 1, "SSTORE")
    world.contract(CONTRACT, *calling(OTHER), 1, "SLOAD", "STOP")
    entries, _ = traced(world, storage=True)
    assert entries[-1]["storage"] == {word(1): word(6)}


def test_the_hash_operation_has_the_name_it_has_now(world):
    world.contract(CONTRACT, 0, 0, "SHA3")
    assert traced(world)[0][2]["op"] == "KECCAK256"


def test_the_revert_data_stand_where_the_frame_ended(world):
    world.contract(CONTRACT, 0xAA, 0, "MSTORE8", 1, 0, "REVERT")
    entries, _ = traced(world)
    assert [entry["reason"] for entry in entries] == [None] * 5 + ["0xaa"]


def test_a_precompiled_contract_has_an_entry_of_its_own(world):
    world.contract(CONTRACT, *calling(IDENTITY, data=b"abc"), "STOP")
    entries, _ = traced(world, memory=True, storage=True)
    call = next(place for place, entry in enumerate(entries) if entry["op"] == "CALL")
    assert entries[call]["depth"] == 1
    assert entries[call + 1] == {
        "pc": entries[call]["pc"],
        "op": "CALL",
        "gas": entries[call + 1]["gas"],
        "gas_cost": 18,
        "depth": 1,
        "stack": [],
        "memory": [],
        "storage": {},
        "reason": None,
    }
    assert entries[call + 2]["op"] == "STOP"


def test_a_precompiled_contract_without_output_cost_nothing(world):
    world.contract(CONTRACT, *calling(IDENTITY), "STOP")
    entries, _ = traced(world)
    assert [entry["gas_cost"] for entry in entries if entry["depth"] == 1] == [100, 0]


def test_a_precompiled_contract_that_is_called_itself_is_one_entry(world):
    entries, _ = traced(world, to=IDENTITY)
    assert [(entry["op"], entry["depth"]) for entry in entries] == [("CALL", 0)]


def test_what_a_system_contract_failed_with_is_what_was_recorded(world):
    world.contract(CONTRACT, *calling(NOBODY), *calling(TOKEN_SERVICE), "STOP")
    recorded = {1: [b"refused"]}
    inside = [entry for entry in traced(world, system=Refusing(), reasons=recorded)[0] if entry["depth"] == 1]
    # An account without code has one operation, the end of its code.
    assert [(entry["op"], entry["reason"]) for entry in inside] == [
        ("CALL", None),
        ("STOP", None),
        ("CALL", None),
        ("CALL", f"0x{error(b'refused').hex()}"),
    ]
    inside = [entry for entry in traced(world, system=Refusing())[0] if entry["depth"] == 1]
    assert [entry["reason"] for entry in inside] == [None] * 4


def test_of_several_that_failed_at_one_depth_each_has_its_own_reason(world):
    world.contract(OTHER, *calling(TOKEN_SERVICE), "STOP")
    world.contract(CONTRACT, *calling(TOKEN_SERVICE), *calling(OTHER), *calling(TOKEN_SERVICE), "STOP")
    recorded = {1: [b"first", b"second"], 2: [b"deeper"]}
    entries, _ = traced(world, gas=3_000_000, system=Refusing(), reasons=recorded)
    told = [(entry["depth"], entry["reason"]) for entry in entries if entry["reason"] is not None]
    assert told == [
        (1, f"0x{error(b'first').hex()}"),
        (2, f"0x{error(b'deeper').hex()}"),
        (1, f"0x{error(b'second').hex()}"),
    ]


@pytest.mark.parametrize(
    ("recorded", "told"),
    [
        (b"", b""),
        (bytes(32), b""),
        ((15).to_bytes(32, "big"), error(b"INVALID_ACCOUNT_ID")),
        (b"\x0f", error(b"INVALID_ACCOUNT_ID")),
        (b"Not today", error(b"Not today")),
        (b"x" * 40, error(b"x" * 40)),
        (error(b"already"), error(b"already")),
        (bytes(28) + b"Text", error(bytes(28) + b"Text")),
        ((2**32 - 1).to_bytes(32, "big"), error(bytes(28) + "\ufffd".encode() * 4)),
        (b"\xff\xfe\xfd\xfc\xfb", error("\ufffd".encode() * 5)),
        (b"\x12\x34\x56\x78\x00\x01", error(b"\x12\x34\x56\x78\x00\x01")),
        (error(b"already")[:4], error(b"already")[:4]),
    ],
)
def test_reasons_of_system_contracts_become_words(recorded, told):
    assert decode_reason(recorded) == told


def test_many_entries_come_in_pieces(world):
    world.accounts[CONTRACT] = AccountRecord(code=code("JUMPDEST", 0, "JUMP"), nonce=1)
    entries, pieces = traced(world, gas=200_000)
    assert len(entries) > 40_000
    assert len(pieces) > 40
    assert max(map(len, pieces)) < 70_000
    assert [entry["op"] for entry in entries[:4]] == ["JUMPDEST", "PUSH1", "JUMP", "JUMPDEST"]
    assert entries[-1]["gas"] < 12


@pytest.mark.parametrize("part", range(5))
def test_any_program_can_be_traced_and_comes_to_the_same(part):
    """`MIRROR_TEST_TRACES` says how many programs."""
    for seed in range(part, int(os.environ.get("MIRROR_TEST_TRACES", "30")), 5):
        world, request = program(seed)
        request = request._replace(gas=min(request.gas, 120_000))
        told = Collected()
        result = engine("pyevm").execute(request, BLOCK, world, None, told.entries)
        entries = told.read()
        assert result == engine("pyevm").execute(request, BLOCK, world), seed
        outermost = [entry for entry in entries if entry["depth"] == 0]
        assert all(entry["gas"] >= 0 and entry["gas_cost"] >= 0 for entry in entries), seed
        if outermost and result.status is Status.REVERT:
            assert outermost[-1]["reason"] == f"0x{result.output.hex()}", seed
        if outermost and result.status is not Status.HALT and request.to is not None:
            assert outermost[-1]["gas"] == request.gas - result.intrinsic_gas - result.execution_gas, seed


class Collected:
    """Everything about a run."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.entries = OpcodeEntries(
            self._pieces.append,
            stack=True,
            memory=True,
            storage=True,
            is_system=lambda address: False,
            reasons={},
        )

    def read(self) -> list[dict[str, Any]]:
        self.entries.flush()
        found: list[dict[str, Any]] = json.loads(b"[" + b"".join(self._pieces) + b"]")
        return found
