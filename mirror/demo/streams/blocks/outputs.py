"""The outputs of a composed transaction: what it returned, by its type."""

from collections.abc import Iterator
from typing import Any

from mirror.core.values.hapi.messages import EvmTransactionResult, HookId, TransactionOutput
from mirror.demo.streams.blocks.changes import AnnouncedTransaction, hook_id

_ETHEREUM = "ethereumTransaction"


def of(announced: AnnouncedTransaction) -> Iterator[Any]:
    """Yield the TransactionOutput messages."""
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
