"""Contract transactions of a block: function results, logs and sidecar records.

A record stream has all of these from the network. In a block the result is in the transaction's output; logs,
actions and touched storage are in its trace data; written values are in the state changes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ledger.stream.block.records.state import Hook, StateAfter, Storage, slot_of
from ledger.stream.record.item import HOOKS_NUM
from mirror.core.values import entity_id, log_bloom
from mirror.core.values.hapi.messages import (
    ContractActions,
    ContractBytecode,
    ContractFunctionResult,
    ContractLoginfo,
    ContractStateChange,
    ContractStateChanges,
    StorageChange,
    TransactionSidecarRecord,
)


def function_result(result: Any, traces: Sequence[Any], addresses: Mapping[int, bytes]) -> Any:
    """Return the ContractFunctionResult of an EvmTransactionResult and its transaction's EvmTraceData.

    `addresses` are the EVM addresses of contracts (encoded) that are known from the block. A log of another
    contract has no bloom yet, and so has the result.
    """
    logs = [_log(log, addresses) for trace in traces for log in trace.logs]
    whole = all(log.bloom for log in logs)
    context = result.internal_call_context
    message = ContractFunctionResult(
        contractCallResult=result.result_data,
        errorMessage=result.error_message,
        gasUsed=result.gas_used,
        bloom=log_bloom.union(log.bloom for log in logs) if whole else b"",
        logInfo=logs,
        contract_nonces=result.contract_nonces,
        gas=context.gas,
        amount=context.value,
        functionParameters=context.call_data,
    )
    fields = (("contractID", "contract_id"), ("sender_id", "sender_id"), ("signer_nonce", "signer_nonce"))
    for name, field in fields:
        if result.HasField(field):
            getattr(message, name).CopyFrom(getattr(result, field))
    return message


def _log(log: Any, addresses: Mapping[int, bytes]) -> Any:
    contract = log.contract_id
    address = contract.evm_address or addresses.get(entity_id.from_contract(contract))
    return ContractLoginfo(
        contractID=contract,
        bloom=log_bloom.create_bloom(address, log.topics) if address else b"",
        topic=log.topics,
        data=log.data,
    )


def sidecar_records(
    consensus_timestamp: Any,
    traces: Sequence[Any],
    state: StateAfter,
    *,
    creation: bool,
    contract: Any,
    hook: Hook | None,
) -> list[Any]:
    """Return the TransactionSidecarRecords of a transaction.

    `creation` says that its type creates contracts; others do if a trace has the code that created one.
    `contract` is the ContractID of its receipt, `hook` is the hook that it called.
    """
    contents: list[dict[str, Any]] = []
    changes = [
        changed
        for trace in traces
        for usage in trace.contract_slot_usages
        if (changed := _storage(usage, state, hook)).storage_changes
    ]
    if changes:
        contents.append({"state_changes": ContractStateChanges(contract_state_changes=changes)})
    actions = [action for trace in traces for action in trace.contract_actions]
    if actions:
        contents.append({"actions": ContractActions(contract_actions=actions)})
    creation = creation or any(trace.HasField("executed_initcode") for trace in traces)
    bytecode = _bytecode(traces, state, contract) if creation else None
    if bytecode is not None:
        contents.append({"bytecode": bytecode})
    return [
        TransactionSidecarRecord(consensus_timestamp=consensus_timestamp, **content) for content in contents
    ]


def _storage(usage: Any, state: StateAfter, hook: Hook | None) -> Any:
    """Return the values read from a contract's storage, and those written to slots named by index.

    All hooks run as one contract, but each has a storage of its own.
    """
    written, values_read = usage.written_slot_keys.keys, []
    storage: Storage = entity_id.from_contract(usage.contract_id)
    of_hook = hook is not None and usage.contract_id.contractNum == HOOKS_NUM
    if hook is not None and of_hook:
        storage = hook
    change = ContractStateChange(contract_id=usage.contract_id)
    unread = set(range(len(written))) if of_hook else set()
    for read in usage.slot_reads:
        by_index = read.WhichOneof("identifier") == "index"
        if not by_index:
            key = read.key
        elif written:
            key = written[read.index] if 0 <= read.index < len(written) else None
            unread.discard(read.index)
        else:
            key = state.written_slot(storage, read.index)
        if key is None:
            continue
        slot = slot_of(storage, key)
        _add_change(change, key, read.read_value, state.value(slot) if by_index else None)
        values_read.append((slot, read.read_value))
    for index in sorted(unread):
        # A hook may write a slot that it has not read.
        _add_change(change, written[index], b"", state.value(slot_of(storage, written[index])))
    for slot, value in values_read:
        state.read_before(slot, value)
    return change


def _add_change(change: Any, key: bytes, read: bytes, written: bytes | None) -> None:
    storage_change = StorageChange(slot=key, value_read=read.lstrip(b"\0"))
    if written is not None:
        storage_change.value_written.value = written.lstrip(b"\0")
    change.storage_changes.append(storage_change)


def _bytecode(traces: Sequence[Any], state: StateAfter, contract: Any) -> Any | None:
    """Return the bytecode of a creation, None when it is unknown.

    Source: the init code that ran, whole or without the runtime code in its middle; the new contract's code,
    by default that of the receipt.
    """
    for trace in traces:
        if trace.executed_initcode.HasField("contract_id"):
            contract = trace.executed_initcode.contract_id
    runtime = state.contract_code(entity_id.from_contract(contract))
    initcode = b""
    for trace in traces:
        executed = trace.executed_initcode
        if executed.HasField("explicit_initcode"):
            initcode = executed.explicit_initcode
        elif executed.HasField("initcode_bookends") and runtime is not None:
            bookends = executed.initcode_bookends
            initcode = bookends.deploy_bytecode + runtime + bookends.metadata_bytecode
    if not runtime and not initcode:
        return None
    created = contract if contract.ByteSize() else None
    return ContractBytecode(contract_id=created, initcode=initcode, runtime_bytecode=runtime or b"")
