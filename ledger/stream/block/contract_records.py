"""Contract transactions of a block: function results, logs and sidecar records.

A record stream has all of these from the network. In a block the result is in the transaction's output; logs,
actions and touched storage are in its trace data; written values are in the state changes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ledger.stream.block.state_after import Hook, StateAfter, Storage, slot_of
from ledger.stream.record_item import HOOKS_NUM
from mirror.core.values import entity_id, log_bloom
from mirror.core.values.hapi.messages import (
    ContractActions,
    ContractBytecode,
    TransactionSidecarRecord,
)


def add_function_result(
    message: Any, result: Any, traces: Sequence[Any], addresses: Mapping[int, bytes]
) -> None:
    """Fill a ContractFunctionResult from an EvmTransactionResult and its transaction's EvmTraceData.

    `addresses` are the EVM addresses of contracts (encoded) that are known from the block. A log of another
    contract has no bloom yet, and so has the result.
    """
    message.contractCallResult, message.errorMessage = result.result_data, result.error_message
    message.gasUsed = result.gas_used
    message.contract_nonces.extend(result.contract_nonces)
    context = result.internal_call_context
    message.gas, message.amount, message.functionParameters = context.gas, context.value, context.call_data
    fields = (("contractID", "contract_id"), ("sender_id", "sender_id"), ("signer_nonce", "signer_nonce"))
    for name, field in fields:
        if result.HasField(field):
            getattr(message, name).CopyFrom(getattr(result, field))
    blooms = [_add_log(message.logInfo, log, addresses) for trace in traces for log in trace.logs]
    if all(blooms):
        message.bloom = log_bloom.union(blooms)


def _add_log(logs: Any, log: Any, addresses: Mapping[int, bytes]) -> bytes:
    contract, topics = log.contract_id, log.topics
    address = contract.evm_address or addresses.get(entity_id.from_contract(contract))
    bloom = log_bloom.create_bloom(address, topics) if address else b""
    logs.add(contractID=contract, bloom=bloom, topic=topics, data=log.data)
    return bloom


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
    sidecar = TransactionSidecarRecord(consensus_timestamp=consensus_timestamp)
    sidecars: list[Any] = []
    changes = sidecar.state_changes.contract_state_changes
    for trace in traces:
        for usage in trace.contract_slot_usages:
            _add_storage(changes, usage, state, hook)
    if changes:
        sidecars.append(sidecar)
    actions = [action for trace in traces for action in trace.contract_actions]
    if actions:
        contents = ContractActions(contract_actions=actions)
        sidecars.append(TransactionSidecarRecord(consensus_timestamp=consensus_timestamp, actions=contents))
    creation = creation or any(trace.HasField("executed_initcode") for trace in traces)
    bytecode = _bytecode(traces, state, contract) if creation else None
    if bytecode is not None:
        sidecars.append(TransactionSidecarRecord(consensus_timestamp=consensus_timestamp, bytecode=bytecode))
    return sidecars


def _add_storage(changes: Any, usage: Any, state: StateAfter, hook: Hook | None) -> None:
    """Add the values read from the storage of a contract or hook, and those written by index, if any."""
    contract, written, values_read = usage.contract_id, usage.written_slot_keys.keys, []
    storage: Storage = entity_id.from_contract(contract)
    of_hook = hook is not None and contract.contractNum == HOOKS_NUM
    if hook is not None and of_hook:
        storage = hook
    change = changes.add(contract_id=contract)
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
        slot, value = slot_of(storage, key), read.read_value
        _add_change(change, key, value, state.value(slot) if by_index else None)
        values_read.append((slot, value))
    for index in sorted(unread):
        # A hook may write a slot that it has not read.
        _add_change(change, written[index], b"", state.value(slot_of(storage, written[index])))
    for slot, value in values_read:
        state.read_before(slot, value)
    if not change.storage_changes:
        del changes[-1]


def _add_change(change: Any, key: bytes, read: bytes, written: bytes | None) -> None:
    storage_change = change.storage_changes.add(slot=key, value_read=read.lstrip(b"\0"))
    if written is not None:
        storage_change.value_written.value = written.lstrip(b"\0")


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
