"""The outputs of a composed transaction by its type, and its traces: logs, calls, storage, code, messages."""

from collections.abc import Iterator
from typing import Any

from mirror.core.values.hapi.messages import (
    EvmTraceData,
    EvmTransactionResult,
    ExecutedInitcode,
    HookId,
    TraceData,
    TransactionOutput,
)
from mirror.demo.streams.record_files import ComposedTransaction
from mirror.demo.streams.state_changes import AnnouncedTransaction, hook_id, is_identical

_ETHEREUM, _SUBMIT = "ethereumTransaction", "consensusSubmitMessage"


def outputs_of(announced: AnnouncedTransaction) -> Iterator[Any]:
    transaction = announced.transaction
    record, receipt = transaction.record, transaction.record.receipt
    kind = transaction.body.WhichOneof("data")
    which = record.WhichOneof("entropy")
    if which is not None:
        yield TransactionOutput(util_prng={which: getattr(record, which)})
    if kind == "cryptoCreateAccount" and receipt.HasField("accountID"):
        yield TransactionOutput(account_create={"created_account_id": receipt.accountID})
    scheduled = {}
    if receipt.HasField("scheduledTransactionID"):
        scheduled["scheduled_transaction_id"] = receipt.scheduledTransactionID
    if kind == "scheduleCreate" and receipt.HasField("scheduleID"):
        yield TransactionOutput(create_schedule={"schedule_id": receipt.scheduleID, **scheduled})
    if kind == "scheduleSign" and scheduled:
        yield TransactionOutput(sign_schedule=scheduled)
    which = record.WhichOneof("body")
    if which is not None:
        output = _evm_output(kind, which, getattr(record, which))
        if announced.hook is not None:
            executed = hook_id(announced.hook)
            output.contract_call.evm_transaction_result.executed_hook_id.MergeFrom(HookId(**executed))
        yield output


def _evm_output(kind: str, which: str, result: Any) -> Any:
    creates = which == "contractCreateResult"
    output = EvmTransactionResult(
        result_data=result.contractCallResult,
        error_message=result.errorMessage,
        gas_used=result.gasUsed,
        contract_nonces=result.contract_nonces,
    )
    copy_fields(result, output, contractID="contract_id", sender_id="sender_id", signer_nonce="signer_nonce")
    if kind == _ETHEREUM:
        # It holds its request itself.
        call = "evm_create_transaction_result" if creates else "evm_call_transaction_result"
        return TransactionOutput(ethereum_call={call: output})
    context = output.internal_call_context
    context.SetInParent()
    context.gas, context.value, context.call_data = result.gas, result.amount, result.functionParameters
    operation = "contract_create" if creates else "contract_call"
    return TransactionOutput(**{operation: {"evm_transaction_result": output}})


def copy_fields(source: Any, target: Any, **names: str) -> None:
    """Copy the fields of `source` that are set, each to the field of `target` with the name given."""
    for field, name in names.items():
        if source.HasField(field):
            getattr(target, name).CopyFrom(getattr(source, field))


# TRACES
def traces_of(announced: AnnouncedTransaction) -> Iterator[Any]:
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
