"""The traces of a composed transaction: logs, calls, storage and code of contracts, messages of topics."""

from collections.abc import Iterator
from typing import Any

from mirror.core.values.hapi.messages import EvmTraceData, ExecutedInitcode, TraceData
from mirror.demo.streams.blocks.changes import AnnouncedTransaction, is_identical
from mirror.demo.streams.record_files import ComposedTransaction

_SUBMIT = "consensusSubmitMessage"


def of(announced: AnnouncedTransaction) -> Iterator[Any]:
    """Yield the TraceData messages."""
    transaction = announced.transaction
    evm = _evm(transaction, explicit=announced.explicit)
    if evm.ByteSize():
        yield TraceData(evm_trace_data=evm)
    record = transaction.record
    # The state has those of the last message to a topic; that of a batch may be an earlier one.
    if transaction.body.WhichOneof("data") == _SUBMIT and record.HasField("parent_consensus_timestamp"):
        receipt = record.receipt
        if receipt.topicSequenceNumber:
            yield TraceData(
                submit_message_trace_data={
                    "sequence_number": receipt.topicSequenceNumber,
                    "running_hash": receipt.topicRunningHash,
                }
            )


def _evm(transaction: ComposedTransaction, *, explicit: bool) -> Any:
    trace = EvmTraceData()
    which = transaction.record.WhichOneof("body")
    if which is not None:
        for log in getattr(transaction.record, which).logInfo:
            trace.logs.add(contract_id=log.contractID, data=log.data, topics=log.topic)
    for sidecar in transaction.sidecars:
        kind = sidecar.WhichOneof("sidecar_records")
        if kind == "actions":
            trace.contract_actions.extend(sidecar.actions.contract_actions)
        elif kind == "state_changes":
            for touched in sidecar.state_changes.contract_state_changes:
                _add_usage(trace, touched, explicit=explicit)
        else:
            trace.executed_initcode.CopyFrom(_initcode(sidecar.bytecode))
    return trace


def _add_usage(trace: Any, touched: Any, *, explicit: bool) -> None:
    """Add the slots that a contract used: those it wrote by their place, others by their key.

    The place is that in the usage's own list, or else among the contract's changes of the state that are not
    identical.
    """
    usage = trace.contract_slot_usages.add(contract_id=touched.contract_id)
    written = 0
    for change in touched.storage_changes:
        if change.HasField("value_written") and (explicit or not is_identical(change)):
            usage.slot_reads.add(index=written, read_value=change.value_read)
            written += 1
            if explicit:
                usage.written_slot_keys.keys.append(change.slot)
        else:
            usage.slot_reads.add(key=change.slot, read_value=change.value_read)


def _initcode(bytecode: Any) -> Any:
    """Return the code of a creation; a network leaves out the runtime code in its middle."""
    initcode, runtime = bytecode.initcode, bytecode.runtime_bytecode
    executed = ExecutedInitcode()
    if bytecode.HasField("contract_id"):
        executed.contract_id.CopyFrom(bytecode.contract_id)
    before, found, after = initcode.partition(runtime) if runtime else (initcode, b"", b"")
    if found:
        executed.initcode_bookends.deploy_bytecode = before
        executed.initcode_bookends.metadata_bytecode = after
    else:
        executed.explicit_initcode = initcode
    return executed
