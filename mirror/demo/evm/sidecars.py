"""Sidecar records of an execution: the storage it touched, its calls, the code of new contracts."""

from collections.abc import Callable
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.ethereum import stripped
from mirror.core.values.hapi.messages import TransactionSidecarRecord
from mirror.demo.evm.execution import Execution, Frame
from mirror.demo.evm.state import Slot
from mirror.demo.evm.system_contracts import SERVICES
from mirror.demo.streams.plain import compose
from mirror.demo.world.contracts import Contract

_CALL, _CREATE, _SYSTEM = 1, 2, 4  # enum ContractActionType
_SYSTEM_CONTRACTS = {entity_id.long_zero(number): number for number in SERVICES}
# Opcode -> enum CallOperationType.
_OPERATIONS = {0xF1: 1, 0xF2: 2, 0xF4: 3, 0xFA: 4, 0xF0: 5, 0xF5: 6}


NumberAt = Callable[[bytes], int | None]


def create_sidecars(execution: Execution, number_at: NumberAt, sender: int) -> list[Any]:
    """Return the state changes and actions, as far as there are any.

    `number_at` maps an address to the number of an account or contract. Values have no leading zero bytes.
    """
    touched = [
        {"contract_id": number, "storage_changes": [_storage_change(*each) for each in slots.items()]}
        for address, slots in execution.slots.items()
        if (number := number_at(address)) is not None
    ]
    actions = [_action(frame, number_at, sender) for frame in execution.frames]
    messages: list[Any] = []
    if touched:
        messages.append(
            compose(TransactionSidecarRecord, {"state_changes": {"contract_state_changes": touched}})
        )
    if actions:
        messages.append(compose(TransactionSidecarRecord, {"actions": {"contract_actions": actions}}))
    return messages


def _action(frame: Frame, number_at: NumberAt, sender: int) -> dict[str, Any]:
    service = _SYSTEM_CONTRACTS.get(frame.recipient)
    number = number_at(frame.recipient) if service is None else service
    kind = _CREATE if frame.creates else _CALL
    action = {
        "call_type": kind if service is None else _SYSTEM,
        "call_operation_type": _OPERATIONS[frame.operation],
        "call_depth": frame.depth,
        "gas": frame.gas,
        "gas_used": frame.gas_used,
        "value": frame.value,
        "input": b"" if frame.creates else frame.data,
    }
    if number is None:
        action["targeted_address"] = frame.recipient
    elif service is not None or frame.recipient_is_contract:
        action["recipient_contract"] = number
    else:
        action["recipient_account"] = number
    if frame.depth == 0:
        action["calling_account"] = sender
    else:
        action["calling_contract"] = number_at(frame.caller)
    if frame.error is not None:
        action["error"] = frame.error.encode()
    else:
        action["revert_reason" if frame.reverted else "output"] = frame.output
    return action


def bytecode(contract: Contract | None, initcode: bytes) -> Any:
    """Return the code of a new contract, or only the init code of one that could not be created."""
    code: dict[str, Any] = {"initcode": initcode}
    if contract is not None:
        code |= {"contract_id": contract.number, "runtime_bytecode": contract.code}
    return compose(TransactionSidecarRecord, {"bytecode": code})


def _storage_change(slot: int, change: Slot) -> dict[str, Any]:
    written = None if change.written is None else stripped(change.written)
    return {"slot": stripped(slot), "value_read": stripped(change.read), "value_written": written}
