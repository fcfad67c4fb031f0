"""The HAPI protobuf classes of records, blocks and the gRPC API, which come compiled with the Python SDK.

Importing the SDK itself would start its network client, so a bare package of that name is registered first.
A generated module below it is loaded with the first use of one of its classes. No other module imports them.
"""

from importlib import import_module
from typing import Any

from google.protobuf.message import DecodeError as DecodeError

from mirror.core.imports import add_bare_package
from mirror.core.values.hapi import wire

SDK = "hiero_sdk_python"
add_bare_package(SDK, __file__)

# Generated module below `hapi` -> the names of its classes.
_CLASSES = {
    "block.stream.block_item": "BlockItem",
    "block.stream.block": "Block",
    "block.stream.block_proof": "BlockProof",
    "block.stream.output.block_footer": "BlockFooter",
    "block.stream.output.block_header": "BlockHeader",
    "block.stream.output.state_changes": "StateChange StateChanges",
    "block.stream.output.transaction_output": "TransactionOutput",
    "block.stream.output.transaction_result": "TransactionResult",
    "block.stream.record_file_item": "RecordFileItem",
    "block.stream.state_proof": "StateProof",
    "block.stream.trace.smart_contract_service": "EvmTraceData ExecutedInitcode",
    "block.stream.trace.trace_data": "TraceData",
    "fees.fee_schedule": "FeeExtra FeeSchedule",
    "mirror.consensus_service": "ConsensusTopicQuery ConsensusTopicResponse",
    "mirror.mirror_network_service": "AddressBookQuery",
    "services.auxiliary.tss.ledger_id_publication": "LedgerIdPublicationTransactionBody",
    "services.basic_types": (
        "AccountAmount AccountID ContractID CurrentAndNextFeeSchedule FileID HederaFunctionality "
        "HookId Key KeyList NftTransfer NodeAddress NodeAddressBook PendingAirdropId "
        "ScheduleID SemanticVersion ServiceEndpoint ServicesConfigurationList SignatureMap SignaturePair "
        "ThresholdKey TokenBalance TokenBalances TokenID TokenTransferList TopicID "
        "TransactionID TransferList"
    ),
    "services.contract_types": "ContractFunctionResult ContractLoginfo EvmTransactionResult",
    "services.crypto_create": "CryptoCreateTransactionBody",
    "services.crypto_get_info": "CryptoGetInfoResponse",
    "services.crypto_transfer": "CryptoTransferTransactionBody",
    "services.crypto_update": "CryptoUpdateTransactionBody",
    "services.custom_fees": (
        "AssessedCustomFee CustomFee CustomFeeLimit FeeExemptKeyList FixedFee FractionalFee RoyaltyFee"
    ),
    "services.exchange_rate": "ExchangeRateSet",
    "services.file_update": "FileUpdateTransactionBody",
    "services.freeze": "FreezeTransactionBody",
    "services.registered_service_endpoint": "RegisteredServiceEndpoint",
    "services.response_code": "ResponseCodeEnum",
    "services.schedulable_transaction_body": "SchedulableTransactionBody",
    "services.timestamp": "Timestamp",
    "services.transaction_contents": "SignedTransaction",
    "services.transaction": "Transaction TransactionBody",
    "services.transaction_receipt": "TransactionReceipt",
    "services.transaction_record": "PendingAirdropRecord TransactionRecord",
    "streams.account_balance_file": "AllAccountBalances SingleAccountBalances",
    "streams.contract_action": "ContractAction ContractActions",
    "streams.contract_bytecode": "ContractBytecode",
    "streams.contract_state_change": "ContractStateChange ContractStateChanges StorageChange",
    "streams.hash_object": "HashObject",
    "streams.record_stream_file": "RecordStreamFile RecordStreamItem SidecarMetadata",
    "streams.sidecar_file": "SidecarFile TransactionSidecarRecord",
    "streams.signature_file": "SignatureFile SignatureObject",
}
# The names of classes that have another one here.
_RENAMED = {"FeeExtra": "Extra"}
_MODULES = {name: f"{SDK}.hapi.{module}_pb2" for module, names in _CLASSES.items() for name in names.split()}
_TEXT, _MESSAGE = 9, 11  # field types of a descriptor: string, message
_MAX_DEPTH = 100  # nesting the compiled classes accept


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_MODULES[name]), _RENAMED.get(name, name))
    return found


def parse(message_class: Any, data: bytes) -> Any:
    """Return the message in `data`, with U+FFFD in place of bytes that are not UTF-8.

    The compiled classes refuse a whole message for one bad memo. Errors: DecodeError for any other bytes.
    """
    try:
        return message_class.FromString(data)
    except DecodeError as error:
        if "UTF-8" not in str(error):
            raise
    return message_class.FromString(_with_valid_text(message_class.DESCRIPTOR, data, _MAX_DEPTH))


def _with_valid_text(descriptor: Any, data: bytes, depth: int) -> bytes:
    """Return the message with valid UTF-8 in every string field and all other bytes as they are."""
    if depth == 0:
        raise DecodeError("messages are nested too deep")
    out = bytearray()
    for field in wire.fields(data):
        known = descriptor.fields_by_number.get(field.number)
        if field.wire_type != wire.LENGTH_DELIMITED or known is None or known.type not in (_TEXT, _MESSAGE):
            out += data[field.start : field.end]
            continue
        value = data[field.value : field.end]
        if known.type == _TEXT:
            value = value.decode("utf-8", "replace").encode()
        else:
            value = _with_valid_text(known.message_type, value, depth - 1)
        out += wire.length_delimited(field.number, value)
    return bytes(out)
