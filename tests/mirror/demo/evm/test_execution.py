"""The simulated network's EVM, against published cases and the sources of its contracts."""

import json
import os
from pathlib import Path

import pytest
import rlp
from eth_abi.abi import encode

from mirror.core.values.entity_id import long_zero
from mirror.core.values.hashes import keccak256
from mirror.demo.evm import execution
from mirror.demo.evm.execution import CREATE, CREATE2, Request, execute
from mirror.demo.evm.solidity import call_data, compiled
from mirror.demo.evm.state import BlockContext, Ledger, Slot

CASES = Path(os.environ.get("MIRROR_EVM_CASES", "../shared/conformance/evm"))
PLACE = BlockContext(block_number=5, timestamp=1_700_000_000, gas_price=71)
ADA, BOB = b"\xad" * 20, b"\xb0" * 20
CONTRACT = long_zero(2001)

# The group of cases that ask for the values of another block.
FOREIGN = {"block"}


class Slate(Ledger):
    """A ledger of plain mappings, which takes over what an execution changes."""

    def __init__(self):
        self.balances, self.nonces, self.codes, self.slots = {ADA: 10**12, BOB: 10**12}, {}, {}, {}

    def balance(self, address):
        return self.balances.get(address, 0)

    def nonce(self, address):
        return self.nonces.get(address, 0)

    def code(self, address):
        return self.codes.get(address, b"")

    def slot(self, address, slot):
        return self.slots.get((address, slot), 0)

    def take(self, done):
        self.balances |= done.balances
        self.nonces |= done.nonces
        self.codes |= done.codes
        for address, touched in done.slots.items():
            for slot, change in touched.items():
                if change.written is not None:
                    self.slots[address, slot] = change.written

    def create(self, name, *arguments, at=CONTRACT, value=0):
        data = compiled(name).creation + compiled(name).arguments(*arguments)
        done = execute(Request(ADA, data, 2_000_000, value, created=at), PLACE, self)
        assert done.successful
        self.take(done)
        return done

    def call(self, signature, *arguments, sender=ADA, to=CONTRACT, value=0, gas=1_000_000):
        request = Request(sender, call_data(signature, *arguments), gas, value, to)
        done = execute(request, PLACE, self)
        self.take(done)
        return done


def words(*values):
    """ABI words of numbers and addresses."""
    return b"".join(
        value.rjust(32, b"\0") if isinstance(value, bytes) else value.to_bytes(32, "big") for value in values
    )


def number(text):
    return int(text, 16)


def raw(text):
    return bytes.fromhex(text[2:])


def cases():
    if not CASES.is_dir():
        return
    for path in sorted(CASES.glob("*.json")):
        given = json.loads(path.read_text())
        for case in given.get("cases", ()) if path.stem not in FOREIGN else ():
            yield pytest.param(given["codes"], case, id=case["name"])


class Case(Slate):
    """The world of a published case, its sender's nonce already raised."""

    def __init__(self, codes, case):
        super().__init__()
        self.balances.clear()
        for address, held in case["pre"].items():
            at = raw(address)
            self.balances[at] = number(held["balance"])
            self.nonces[at] = held["nonce"] + (address == case["call"]["from"])
            self.codes[at] = raw(codes[held["code"][1:]] if held["code"].startswith("@") else held["code"])
            self.slots |= {(at, number(slot)): number(value) for slot, value in held["storage"].items()}


@pytest.mark.filterwarnings("ignore:SELFDESTRUCT")
@pytest.mark.skipif(not CASES.is_dir(), reason="the published EVM cases are not here (MIRROR_EVM_CASES)")
@pytest.mark.parametrize(("codes", "case"), list(cases()))
def test_a_published_case_gives_its_status_output_gas_logs_and_storage(codes, case):
    call, expected = case["call"], case["expect"]
    ledger, sender = Case(codes, case), raw(call["from"])
    creates = call["to"] is None
    request = Request(
        sender,
        raw(call["data"]),
        number(call["gas"]),
        number(call["value"]),
        to=b"" if creates else raw(call["to"]),
        created=created_address(sender, ledger.nonce(sender) - 1) if creates else b"",
    )

    if number(call["gas"]) < expected["intrinsicGas"]:
        with pytest.raises(ValueError, match="gas of the transaction"):
            execute(request, PLACE, ledger)
        return
    done = execute(request, PLACE, ledger)

    status = {"SUCCESS": "success", "CONTRACT_REVERT_EXECUTED": "revert"}.get(done.result, "halt")
    assert status == expected["status"]
    assert done.frames[0].gas_used == expected["executionGas"]
    created = done.codes.get(request.created, b"") if done.successful and creates else done.output
    assert "0x" + created.hex() == expected["output"]
    assert [
        {"address": "0x" + log.address.hex(), "topics": [hex(int.from_bytes(t, "big")) for t in log.topics]}
        for log in done.logs
    ] == [
        {"address": log["address"], "topics": [hex(number(topic)) for topic in log["topics"]]}
        for log in expected["logs"]
    ]
    ledger.take(done)
    for address, changed in expected["postChanged"].items():
        for slot, value in changed.get("storage", {}).items():
            assert ledger.slot(raw(address), number(slot)) == number(value)


def created_address(creator, nonce):
    return keccak256(rlp.encode([creator, nonce]))[12:]


def test_a_creation_stores_the_runtime_code_and_the_values_of_the_constructor():
    ledger = Slate()

    done = ledger.create("Coin", "Demo Coin", "DMO", 5_000)

    assert done.codes == {CONTRACT: compiled("Coin").runtime}
    assert done.nonces == {CONTRACT: 1}
    assert done.gas_used == done.frames[0].gas_used + execution.intrinsic_gas(
        compiled("Coin").creation + compiled("Coin").arguments("Demo Coin", "DMO", 5_000), creates=True
    )
    assert ledger.call("balanceOf(address)", ADA).output == words(5_000)
    assert ledger.call("name()").output == encode(["string"], ["Demo Coin"])


def test_a_transfer_reports_its_reads_writes_and_logs():
    ledger = Slate()
    ledger.create("Coin", "Demo Coin", "DMO", 5_000)

    done = ledger.call("transfer(address,uint256)", BOB, 7)

    of_ada, of_bob = (int.from_bytes(keccak256(words(holder, 4)), "big") for holder in (ADA, BOB))
    assert done.output == words(True)
    assert done.slots == {CONTRACT: {of_ada: Slot(5_000, 4_993), of_bob: Slot(0, 7)}}
    (log,) = done.logs
    assert log.address == CONTRACT
    assert log.topics == (keccak256(b"Transfer(address,address,uint256)"), words(ADA), words(BOB))
    assert log.data == words(7)


def test_custom_errors_and_reasons_are_returned_as_encoded():
    ledger = Slate()
    ledger.create("Faults")

    custom = ledger.call("custom(uint256,string)", 7, "why")
    reason = ledger.call("reason(string)", "because")

    assert custom.result == reason.result == "CONTRACT_REVERT_EXECUTED"
    assert custom.output == call_data("Custom(uint256,string)", 7, "why")
    assert reason.output == call_data("Error(string)", "because")


@pytest.mark.parametrize(
    ("signature", "arguments", "code"),
    [
        ("failAssertion()", (), 0x01),
        ("overflow(uint256)", (1,), 0x11),
        ("divide(uint256,uint256)", (1, 0), 0x12),
        ("element(uint256)", (3,), 0x32),
    ],
)
def test_a_panic_has_its_code(signature, arguments, code):
    ledger = Slate()
    ledger.create("Faults")

    assert ledger.call(signature, *arguments).output == call_data("Panic(uint256)", code)


@pytest.mark.parametrize(
    ("signature", "result", "error"),
    [
        ("invalid()", "CONTRACT_EXECUTION_EXCEPTION", "INVALID_OPERATION"),
        ("exhaust()", "INSUFFICIENT_GAS", "INSUFFICIENT_GAS"),
    ],
)
def test_a_halt_uses_all_gas_and_writes_nothing(signature, result, error):
    ledger = Slate()
    ledger.create("Faults")

    done = ledger.call(signature, gas=60_000)

    assert (done.result, done.gas_used, done.output, done.frames[0].error) == (result, 60_000, b"", error)
    assert all(slot.written is None for slots in done.slots.values() for slot in slots.values())


def test_writes_of_an_inner_call_that_reverts_are_undone():
    ledger = Slate()
    ledger.create("Faults")

    done = ledger.call("undone(uint256)", 30)

    assert done.slots == {CONTRACT: {1: Slot(0, 30)}}
    assert [frame.reverted for frame in done.frames] == [False, True]
    assert done.frames[1].output == call_data("Error(string)", "Faults: not meant to stay")


def test_addresses_of_children_follow_from_nonce_or_salt():
    ledger = Slate()
    ledger.create("Factory")
    made = ledger.call("make()", value=70)
    salted = ledger.call("makeAt(bytes32)", (5).to_bytes(32, "big"))

    by_nonce = created_address(CONTRACT, 1)
    initcode = compiled("Locker").creation + compiled("Locker").arguments(ADA, 1)
    by_salt = keccak256(b"\xff" + CONTRACT + (5).to_bytes(32, "big") + keccak256(initcode))[12:]
    assert made.output == words(by_nonce)
    assert salted.output == words(by_salt)
    assert made.nonces == {CONTRACT: 2, by_nonce: 1}
    assert made.balances[by_nonce] == ledger.balance(by_nonce) == 70
    assert [(frame.operation, frame.depth, frame.recipient) for frame in made.frames[1:]] == [
        (CREATE, 1, by_nonce)
    ]
    assert salted.frames[1].operation == CREATE2
    assert ledger.codes[by_nonce] == ledger.codes[by_salt] == compiled("Locker").runtime


def test_money_moves_through_nested_calls():
    ledger = Slate()
    ledger.create("Factory")
    locker = ledger.call("make()", value=70).output[12:]
    ledger.call("unlock(uint256)", 0)

    done = ledger.call("pay(uint256,address,uint256)", 0, BOB, 60)

    assert done.balances == {locker: 10, BOB: 10**12 + 60}
    assert [(frame.depth, frame.value) for frame in done.frames] == [(0, 0), (1, 0), (1, 0), (2, 60)]


def test_a_refund_is_not_limited_to_a_fifth_of_the_gas():
    ledger = Slate()
    ledger.create("Coin", "Demo Coin", "DMO", 5_000)

    done = ledger.call("transfer(address,uint256)", BOB, 5_000)
    back = ledger.call("transfer(address,uint256)", ADA, 5_000, sender=BOB)

    assert back.gas_used == 21_000 + calldata_gas(ADA, 5_000) + back.frames[0].gas_used - 4_800
    assert done.successful


def calldata_gas(to, value):
    data = call_data("transfer(address,uint256)", to, value)
    return execution.intrinsic_gas(data, creates=False) - 21_000


def test_contracts_see_the_block_they_run_in():
    ledger = Slate()
    ledger.create("Counter", 0)

    assert ledger.call("place()").output == words(5, 1_700_000_000, 298, long_zero(98), ADA)


def test_a_sender_that_cannot_pay_the_value_is_refused():
    with pytest.raises(ValueError, match="can't pay"):
        execute(Request(ADA, b"", 21_000, 10**13, BOB), PLACE, Slate())
