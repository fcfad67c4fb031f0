from mirror.core.values.hapi.messages import ContractBytecode
from mirror.demo.evm import sidecars
from tests.mirror.demo.evm.test_execution import ADA, BOB, CONTRACT, Slate

NUMBERS = {ADA: 1001, BOB: 1002, CONTRACT: 2001}
CALL, CREATE = 1, 2
OP_CALL, OP_STATICCALL, OP_CREATE = 1, 4, 5


def actions(execution, numbers):
    *_, last = sidecars.create_sidecars(execution, numbers.get, 1001)
    return last.actions.contract_actions


def summary(action):
    """What calls what: caller and recipient by number, kind of call, depth."""
    caller, recipient = action.WhichOneof("caller"), action.WhichOneof("recipient")
    return (
        getattr(action, caller).accountNum
        if caller == "calling_account"
        else action.calling_contract.contractNum,
        recipient and recipient.removeprefix("recipient_"),
        action.call_type,
        action.call_operation_type,
        action.call_depth,
    )


def test_actions_are_the_calls_in_the_order_they_began():
    ledger = Slate()
    ledger.create("Factory")
    made = ledger.call("make()", value=70)
    numbers = NUMBERS | {made.call.output[12:]: 2002}
    ledger.call("unlock(uint256)", 0)
    paid = ledger.call("pay(uint256,address,uint256)", 0, BOB, 60)

    assert list(map(summary, actions(made, numbers))) == [
        (1001, "contract", CALL, OP_CALL, 0),
        (2001, "contract", CREATE, OP_CREATE, 1),
    ]
    assert list(map(summary, actions(paid, numbers))) == [
        (1001, "contract", CALL, OP_CALL, 0),
        (2001, "contract", CALL, OP_STATICCALL, 1),
        (2001, "contract", CALL, OP_CALL, 1),
        (2002, "account", CALL, OP_CALL, 2),
    ]
    outermost, *_, payment = actions(paid, numbers)
    assert outermost.gas == 1_000_000 - 21_000 - sum(16 if byte else 4 for byte in outermost.input)
    assert (payment.value, payment.input, payment.WhichOneof("result_data")) == (60, b"", "output")


def test_a_failed_action_has_a_revert_reason_or_an_error():
    ledger = Slate()
    ledger.create("Faults")

    (reverted,) = actions(ledger.call("silent()"), NUMBERS)
    (halted,) = actions(ledger.call("invalid()"), NUMBERS)

    assert (reverted.WhichOneof("result_data"), reverted.revert_reason) == ("revert_reason", b"")
    assert halted.error == b"INVALID_OPERATION"
    assert halted.gas_used == halted.gas


def test_state_changes_have_no_leading_zeros():
    ledger = Slate()
    ledger.create("Faults")

    first, _ = sidecars.create_sidecars(ledger.call("undone(uint256)", 0x0102), NUMBERS.get, 1001)

    (of_contract,) = first.state_changes.contract_state_changes
    (change,) = of_contract.storage_changes
    assert of_contract.contract_id.contractNum == 2001
    assert (change.slot, change.value_read, change.value_written.value) == (b"\1", b"", b"\1\2")


def test_a_failed_creation_has_only_init_code():
    assert sidecars.bytecode(None, b"init").bytecode == ContractBytecode(initcode=b"init")
