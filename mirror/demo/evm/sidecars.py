"""Sidecar records of an execution: the storage it touched, its calls, the code of new contracts."""

from collections.abc import Callable
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import (
    ContractActions,
    ContractBytecode,
    ContractID,
    ContractStateChanges,
    TransactionSidecarRecord,
)
from mirror.demo.evm.execution import Execution, Frame
from mirror.demo.evm.state import Slot
from mirror.demo.evm.system_contracts import SERVICES
from mirror.demo.streams.record_files import account
from mirror.demo.world.contracts import Contract

_CALL, _CREATE, _SYSTEM = 1, 2, 4  # enum ContractActionType
_SYSTEM_CONTRACTS = {entity_id.long_zero(number): number for number in SERVICES}
# Opcode -> enum CallOperationType.
_OPERATIONS = {0xF1: 1, 0xF2: 2, 0xF4: 3, 0xFA: 4, 0xF0: 5, 0xF5: 6}


NumberAt = Callable[[bytes], int | None]


def of(execution: Execution, number_at: NumberAt, sender: int) -> list[Any]:
    """Return the state changes and actions, as far as there are any.

    `number_at` maps an address to the number of an account or contract.
    """
    touched = [
        (number, slots)
        for address, slots in execution.slots.items()
        if (number := number_at(address)) is not None
    ]
    messages = []
    if touched:
        messages.append(TransactionSidecarRecord(state_changes=state_changes(touched)))
    if execution.frames:
        actions = [_action(frame, number_at, sender) for frame in execution.frames]
        messages.append(TransactionSidecarRecord(actions=ContractActions(contract_actions=actions)))
    return messages


def _action(frame: Frame, number_at: NumberAt, sender: int) -> dict[str, Any]:
    action = {
        "call_type": _call_type(frame),
        "call_operation_type": _OPERATIONS[frame.operation],
        "call_depth": frame.depth,
        "gas": frame.gas,
        "gas_used": frame.gas_used,
        "value": frame.value,
        "input": b"" if frame.creates else frame.data,
        **_recipient(frame, number_at),
    }
    if frame.depth == 0:
        action["calling_account"] = account(sender)
    else:
        action["calling_contract"] = ContractID(contractNum=number_at(frame.caller))
    if frame.error is not None:
        action["error"] = frame.error.encode()
    elif frame.reverted:
        action["revert_reason"] = frame.output
    else:
        action["output"] = frame.output
    return action


def _recipient(frame: Frame, number_at: NumberAt) -> dict[str, Any]:
    service = _SYSTEM_CONTRACTS.get(frame.recipient)
    number = number_at(frame.recipient) if service is None else service
    if number is None:
        return {"targeted_address": frame.recipient}
    if service is not None or frame.recipient_is_contract:
        return {"recipient_contract": ContractID(contractNum=number)}
    return {"recipient_account": account(number)}


def _call_type(frame: Frame) -> int:
    if frame.recipient in _SYSTEM_CONTRACTS:
        return _SYSTEM
    return _CREATE if frame.creates else _CALL


def state_changes(touched: list[tuple[int, dict[int, Slot]]]) -> Any:
    """Return the ContractStateChanges of contracts by number. Values have no leading zero bytes."""
    return ContractStateChanges(
        contract_state_changes=[
            {
                "contract_id": ContractID(contractNum=number),
                "storage_changes": [_storage_change(slot, change) for slot, change in slots.items()],
            }
            for number, slots in touched
        ]
    )


def bytecode(contract: Contract | None, initcode: bytes) -> Any:
    """Return the code of a new contract, or only the init code of one that could not be created."""
    if contract is None:
        return TransactionSidecarRecord(bytecode=ContractBytecode(initcode=initcode))
    return TransactionSidecarRecord(
        bytecode=ContractBytecode(
            contract_id=ContractID(contractNum=contract.number),
            initcode=initcode,
            runtime_bytecode=contract.code,
        )
    )


def _storage_change(slot: int, change: Slot) -> dict[str, Any]:
    message: dict[str, Any] = {"slot": shortest(slot), "value_read": shortest(change.read)}
    if change.written is not None:
        message["value_written"] = {"value": shortest(change.written)}
    return message


def shortest(number: int) -> bytes:
    """Return a number as bytes without leading zeros."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big")
