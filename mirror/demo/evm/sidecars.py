"""Sidecar records of an execution: the storage it touched, its calls, the code of new contracts."""

from collections.abc import Callable
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.ethereum import stripped
from mirror.core.values.hapi.messages import TransactionSidecarRecord
from mirror.demo.evm.execution import Execution, Frame
from mirror.demo.evm.system_contracts import SERVICES
from mirror.demo.streams.plain import compose
from mirror.demo.world.contracts import Contract
from web3sim.engine.interface import SlotChange, Status

_CALL, _CREATE, _SYSTEM = 1, 2, 4  # enum ContractActionType
_SYSTEM_CONTRACTS = {entity_id.long_zero(number): number for number in SERVICES}
# Their numbers in enum CallOperationType.
_OPERATIONS = {"CALL": 1, "CALLCODE": 2, "DELEGATECALL": 3, "STATICCALL": 4, "CREATE": 5, "CREATE2": 6}


NumberAt = Callable[[bytes], int | None]


def create_sidecars(execution: Execution, number_at: NumberAt, sender: int) -> list[Any]:
    """Return the state changes and actions, as far as there are any.

    `number_at` maps an address to the number of an account or contract. Values have no leading zero bytes.
    """
    changes: dict[int, list[dict[str, Any]]] = {}
    for (address, slot), change in execution.call.slots.items():
        if (number := number_at(address)) is not None:
            changes.setdefault(number, []).append(_storage_change(slot, change))
    touched = [{"contract_id": number, "storage_changes": each} for number, each in changes.items()]
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
    start, end = frame.start, frame.end
    service = _SYSTEM_CONTRACTS.get(start.code_address)
    number = number_at(start.code_address) if service is None else service
    kind = _CREATE if frame.creates else _CALL
    action = {
        "call_type": kind if service is None else _SYSTEM,
        "call_operation_type": _OPERATIONS[start.operation],
        "call_depth": start.depth,
        "gas": start.gas,
        "gas_used": end.gas_used,
        "value": 0 if start.operation == "DELEGATECALL" else start.value,
        "input": b"" if frame.creates else start.data,
    }
    if number is None:
        action["targeted_address"] = start.code_address
    elif service is not None or frame.has_code:
        action["recipient_contract"] = number
    else:
        action["recipient_account"] = number
    if start.depth == 0:
        action["calling_account"] = sender
    else:
        action["calling_contract"] = number_at(start.sender)
    if frame.error is not None:
        action["error"] = frame.error.encode()
    elif end.status is Status.REVERT:
        action["revert_reason"] = end.output
    else:
        action["output"] = b"" if frame.creates else end.output
    return action


def bytecode(contract: Contract | None, initcode: bytes) -> Any:
    """Return the code of a new contract, or only the init code of one that could not be created."""
    code: dict[str, Any] = {"initcode": initcode}
    if contract is not None:
        code |= {"contract_id": contract.number, "runtime_bytecode": contract.code}
    return compose(TransactionSidecarRecord, {"bytecode": code})


def _storage_change(slot: int, change: SlotChange) -> dict[str, Any]:
    written = None if change.written is None else stripped(change.written)
    return {"slot": stripped(slot), "value_read": stripped(change.read), "value_written": written}
