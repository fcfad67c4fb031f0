"""Contract transactions of a block: function results, logs and sidecar records.

A record stream has all of these from the network. In a block the result is in the transaction's output; logs,
actions and touched storage are in its trace data; written values are in the state changes.
"""

from collections.abc import Sequence
from typing import Any

from ledger.stream.block.state import StateAfter, slot_of
from mirror.values import entity_id, log_bloom
from mirror.values.hapi import (
    ContractActions,
    ContractBytecode,
    ContractFunctionResult,
    ContractLoginfo,
    ContractStateChange,
    ContractStateChanges,
    StorageChange,
    TransactionSidecarRecord,
)


def function_result(result: Any, traces: Sequence[Any]) -> Any:
    """Return the ContractFunctionResult of an EvmTransactionResult and its transaction's EvmTraceData."""
    logs = [_log(log) for trace in traces for log in trace.logs]
    context = result.internal_call_context
    message = ContractFunctionResult(
        contractCallResult=result.result_data,
        errorMessage=result.error_message,
        gasUsed=result.gas_used,
        bloom=log_bloom.union(log.bloom for log in logs),
        logInfo=logs,
        contract_nonces=result.contract_nonces,
        gas=context.gas,
        amount=context.value,
        functionParameters=context.call_data,
    )
    for name, field in (
        ("contractID", "contract_id"),
        ("sender_id", "sender_id"),
        ("signer_nonce", "signer_nonce"),
    ):
        if result.HasField(field):
            getattr(message, name).CopyFrom(getattr(result, field))
    return message


def _log(log: Any) -> Any:
    contract = log.contract_id
    address = contract.evm_address or entity_id.long_zero(entity_id.of_contract(contract))
    return ContractLoginfo(
        contractID=contract, bloom=log_bloom.of_log(address, log.topics), topic=log.topics, data=log.data
    )


def sidecar_records(
    consensus_timestamp: Any, traces: Sequence[Any], state: StateAfter, *, creation: bool, contract: Any
) -> list[Any]:
    """Return the TransactionSidecarRecords of a transaction.

    `creation` says that it was to create a contract, `contract` is the ContractID of its receipt.
    """
    contents: list[dict[str, Any]] = []
    changes = [
        changed
        for trace in traces
        for usage in trace.contract_slot_usages
        if (changed := _storage(usage, state)).storage_changes
    ]
    if changes:
        contents.append({"state_changes": ContractStateChanges(contract_state_changes=changes)})
    actions = [action for trace in traces for action in trace.contract_actions]
    if actions:
        contents.append({"actions": ContractActions(contract_actions=actions)})
    bytecode = _bytecode(traces, state, contract) if creation else None
    if bytecode is not None:
        contents.append({"bytecode": bytecode})
    return [
        TransactionSidecarRecord(consensus_timestamp=consensus_timestamp, **content) for content in contents
    ]


def _storage(usage: Any, state: StateAfter) -> Any:
    """Return the values read from a contract's storage, and those written to slots named by index."""
    written, values_read = usage.written_slot_keys.keys, []
    contract = entity_id.of_contract(usage.contract_id)
    change = ContractStateChange(contract_id=usage.contract_id)
    for read in usage.slot_reads:
        by_index = read.WhichOneof("identifier") == "index"
        if not by_index:
            key = read.key
        elif written:
            key = written[read.index] if 0 <= read.index < len(written) else None
        else:
            key = state.written_slot(contract, read.index)
        if key is None:
            continue
        slot = slot_of(usage.contract_id, key)
        storage = StorageChange(slot=key, value_read=read.read_value.lstrip(b"\0"))
        value = state.value(slot) if by_index else None
        if value is not None:
            storage.value_written.value = value.lstrip(b"\0")
        change.storage_changes.append(storage)
        values_read.append((slot, read.read_value))
    for slot, value in values_read:
        state.read_before(slot, value)
    return change


def _bytecode(traces: Sequence[Any], state: StateAfter, contract: Any) -> Any | None:
    """Return the bytecode of a creation, None when it is unknown.

    Source: the init code that ran, whole or without the runtime code in its middle; the new contract's code.
    """
    runtime = state.contract_code(entity_id.of_contract(contract))
    initcode = b""
    for trace in traces:
        executed = trace.executed_initcode
        if executed.HasField("explicit_initcode"):
            initcode = executed.explicit_initcode
        elif executed.HasField("initcode_bookends"):
            bookends = executed.initcode_bookends
            initcode = bookends.deploy_bytecode + runtime + bookends.metadata_bytecode
    if not runtime and not initcode:
        return None
    return ContractBytecode(contract_id=contract, initcode=initcode, runtime_bytecode=runtime)
