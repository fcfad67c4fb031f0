"""Runs of the simulated network's contracts, as its records have them."""

import pytest
from eth_abi.abi import encode

from mirror.core.values.entity_id import long_zero
from mirror.core.values.ethereum import created_address
from mirror.core.values.hashes import keccak256
from mirror.demo.evm.execution import WorldState, execute
from mirror.demo.evm.solidity import call_data, compiled
from mirror.demo.world.world import World
from web3sim.engine.interface import (
    AccountRecord,
    BlockEnvironment,
    CallRequest,
    InsufficientFunds,
    SlotChange,
)
from web3sim.engine.ledger.intrinsic_gas import intrinsic_gas

BLOCK = BlockEnvironment(5, 1_700_000_000, long_zero(98), bytes(32), 15_000_000, 298)
ADA, BOB = b"\xad" * 20, b"\xb0" * 20
CONTRACT = long_zero(2001)


class Slate(WorldState):
    """A world of plain mappings, which takes over what an execution changes."""

    def __init__(self):
        super().__init__(World(), ())
        self.balances, self.nonces, self.codes, self.slots = {ADA: 10**12, BOB: 10**12}, {}, {}, {}

    def account(self, address):
        if address not in self.balances and address not in self.codes:
            return None
        values = (self.balances.get(address, 0), self.nonces.get(address, 0), self.codes.get(address, b""))
        return AccountRecord(*values)

    def slot(self, address, slot):
        return self.slots.get((address, slot), 0)

    def take(self, done):
        self.balances |= done.call.balances
        self.nonces |= done.nonces
        self.codes |= done.codes
        for key, change in done.call.slots.items():
            if change.written is not None:
                self.slots[key] = change.written
        return done

    def create(self, name, *arguments):
        data = compiled(name).creation + compiled(name).arguments(*arguments)
        request = CallRequest(ADA, None, data, 2_000_000, new_contract_address=CONTRACT)
        done = self.take(execute(request, BLOCK, self))
        assert done.successful
        return done

    def call(self, signature, *arguments, value=0, gas=1_000_000):
        request = CallRequest(ADA, CONTRACT, call_data(signature, *arguments), gas, value)
        return self.take(execute(request, BLOCK, self))


def words(*values):
    """ABI words of numbers and addresses."""
    return b"".join(
        value.rjust(32, b"\0") if isinstance(value, bytes) else value.to_bytes(32, "big") for value in values
    )


def test_a_creation_has_the_runtime_code_and_a_nonce():
    state = Slate()

    done = state.create("Coin", "Demo Coin", "DMO", 5_000)

    assert (done.codes, done.nonces) == ({CONTRACT: compiled("Coin").runtime}, {CONTRACT: 1})
    data = compiled("Coin").creation + compiled("Coin").arguments("Demo Coin", "DMO", 5_000)
    assert done.call.gas_used == done.frames[0].end.gas_used + intrinsic_gas(data, creates=True)
    assert state.call("name()").call.output == encode(["string"], ["Demo Coin"])


def test_a_transfer_has_reads_writes_and_logs():
    state = Slate()
    state.create("Coin", "Demo Coin", "DMO", 5_000)

    done = state.call("transfer(address,uint256)", BOB, 7).call

    of_ada, of_bob = (int.from_bytes(keccak256(words(holder, 4)), "big") for holder in (ADA, BOB))
    assert done.slots == {(CONTRACT, of_ada): SlotChange(5_000, 4_993), (CONTRACT, of_bob): SlotChange(0, 7)}
    (log,) = done.logs
    assert log.address == CONTRACT
    assert log.topics == (keccak256(b"Transfer(address,address,uint256)"), words(ADA), words(BOB))
    assert log.data == words(7)


@pytest.mark.parametrize(
    ("signature", "arguments", "output"),
    [
        ("custom(uint256,string)", (7, "why"), call_data("Custom(uint256,string)", 7, "why")),
        ("reason(string)", ("because",), call_data("Error(string)", "because")),
        ("failAssertion()", (), call_data("Panic(uint256)", 0x01)),
        ("overflow(uint256)", (1,), call_data("Panic(uint256)", 0x11)),
        ("divide(uint256,uint256)", (1, 0), call_data("Panic(uint256)", 0x12)),
        ("element(uint256)", (3,), call_data("Panic(uint256)", 0x32)),
    ],
)
def test_a_revert_has_its_data(signature, arguments, output):
    state = Slate()
    state.create("Faults")

    done = state.call(signature, *arguments)

    assert (done.result, done.call.output) == ("CONTRACT_REVERT_EXECUTED", output)


@pytest.mark.parametrize(
    ("signature", "result", "error"),
    [
        ("invalid()", "CONTRACT_EXECUTION_EXCEPTION", "INVALID_OPERATION"),
        ("exhaust()", "INSUFFICIENT_GAS", "INSUFFICIENT_GAS"),
    ],
)
def test_a_halt_uses_all_gas(signature, result, error):
    state = Slate()
    state.create("Faults")

    done = state.call(signature, gas=60_000)

    assert (done.result, done.call.gas_used, done.frames[0].error) == (result, 60_000, error)


def test_children_have_nonces_codes_and_frames():
    state = Slate()
    state.create("Factory")
    made = state.call("make()", value=70)
    salted = state.call("makeAt(bytes32)", (5).to_bytes(32, "big"))

    by_nonce, by_salt = created_address(CONTRACT, 1), salted.call.output[12:]
    assert made.call.output == words(by_nonce)
    assert made.nonces == {CONTRACT: 2, by_nonce: 1}
    assert salted.nonces == {CONTRACT: 3, by_salt: 1}
    assert made.call.balances[by_nonce] == 70
    (_, creation), (_, salted_creation) = made.frames, salted.frames
    assert (creation.start.operation, creation.start.depth) == ("CREATE", 1)
    assert salted_creation.start.operation == "CREATE2"
    assert state.codes[by_nonce] == state.codes[by_salt] == compiled("Locker").runtime


def test_a_failed_call_creates_nothing():
    state = Slate()
    state.create("Factory")

    done = state.call("make()", value=70, gas=100_000)

    assert done.result == "CONTRACT_REVERT_EXECUTED"
    assert (done.codes, done.nonces, done.call.balances) == ({}, {}, {})


def test_contracts_see_the_block_they_run_in():
    state = Slate()
    state.create("Counter", 0)

    assert state.call("place()").call.output == words(5, 1_700_000_000, 298, long_zero(98), ADA)


def test_what_can_not_start_is_rejected():
    with pytest.raises(InsufficientFunds):
        execute(CallRequest(ADA, BOB, b"", 21_000, 10**13), BLOCK, Slate())
    with pytest.raises(ValueError, match="does not suffice"):
        execute(CallRequest(ADA, BOB, b"", 20_999), BLOCK, Slate())
