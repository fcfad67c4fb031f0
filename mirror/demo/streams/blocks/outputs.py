"""The outputs of a composed transaction: what it returned, by its type."""

from collections.abc import Iterator
from typing import Any

from mirror.core.values.hapi.messages import EvmTransactionResult, HookId, TransactionOutput
from mirror.demo.streams.blocks.changes import AnnouncedTransaction, hook_id

_ETHEREUM = "ethereumTransaction"


def of(told: AnnouncedTransaction) -> Iterator[Any]:
    """Yield the TransactionOutput messages."""
    transaction = told.transaction
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
        if told.hook is not None:
            executed = hook_id(told.hook)
            output.contract_call.evm_transaction_result.executed_hook_id.MergeFrom(HookId(**executed))
        yield output


def _evm_output(kind: str, which: str, result: Any) -> Any:
    creates = which == "contractCreateResult"
    told = _evm_result(result, with_request=kind != _ETHEREUM)
    if kind == _ETHEREUM:
        call = "evm_create_transaction_result" if creates else "evm_call_transaction_result"
        return TransactionOutput(ethereum_call={call: told})
    if creates:
        return TransactionOutput(contract_create={"evm_transaction_result": told})
    return TransactionOutput(contract_call={"evm_transaction_result": told})


def _evm_result(result: Any, *, with_request: bool) -> Any:
    """Return the EvmTransactionResult of a ContractFunctionResult.

    An Ethereum transaction holds its request itself.
    """
    told = EvmTransactionResult(
        result_data=result.contractCallResult,
        error_message=result.errorMessage,
        gas_used=result.gasUsed,
        contract_nonces=result.contract_nonces,
    )
    for name, field in (
        ("contract_id", "contractID"),
        ("sender_id", "sender_id"),
        ("signer_nonce", "signer_nonce"),
    ):
        if result.HasField(field):
            getattr(told, name).CopyFrom(getattr(result, field))
    if with_request:
        told.internal_call_context.SetInParent()
        told.internal_call_context.gas = result.gas
        told.internal_call_context.value = result.amount
        told.internal_call_context.call_data = result.functionParameters
    return told
