"""The HAPI protobuf classes of records, blocks and the gRPC API, which come compiled with the Python SDK.

Importing the SDK itself would start its network client, so a bare package of that name is registered first
and only the generated modules below it are loaded. No other module imports them.
"""

# ruff: noqa: E402, F401  (the bare package comes before the imports, which are for other modules)

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from google.protobuf.message import DecodeError

from mirror.core.values.hapi import wire

SDK = "hiero_sdk_python"

if SDK not in sys.modules:
    _spec = find_spec(SDK)
    if _spec is None or not _spec.submodule_search_locations:
        raise ImportError("the package hiero-sdk-python is missing: install requirements.txt")
    _package = ModuleType(SDK)
    _package.__path__ = list(_spec.submodule_search_locations)
    _package.__spec__ = _spec
    sys.modules[SDK] = _package

from hiero_sdk_python.hapi.block.stream.block_item_pb2 import BlockItem
from hiero_sdk_python.hapi.block.stream.block_pb2 import Block
from hiero_sdk_python.hapi.block.stream.block_proof_pb2 import BlockProof
from hiero_sdk_python.hapi.block.stream.input.event_metadata_pb2 import EventHeader
from hiero_sdk_python.hapi.block.stream.input.round_header_pb2 import RoundHeader
from hiero_sdk_python.hapi.block.stream.output.block_footer_pb2 import BlockFooter
from hiero_sdk_python.hapi.block.stream.output.block_header_pb2 import BlockHeader
from hiero_sdk_python.hapi.block.stream.output.state_changes_pb2 import StateChange, StateChanges
from hiero_sdk_python.hapi.block.stream.output.transaction_output_pb2 import TransactionOutput
from hiero_sdk_python.hapi.block.stream.output.transaction_result_pb2 import TransactionResult
from hiero_sdk_python.hapi.block.stream.record_file_item_pb2 import RecordFileItem
from hiero_sdk_python.hapi.block.stream.state_proof_pb2 import StateProof
from hiero_sdk_python.hapi.block.stream.trace.smart_contract_service_pb2 import EvmTraceData, ExecutedInitcode
from hiero_sdk_python.hapi.block.stream.trace.trace_data_pb2 import TraceData
from hiero_sdk_python.hapi.fees.fee_schedule_pb2 import Extra as FeeExtra
from hiero_sdk_python.hapi.fees.fee_schedule_pb2 import FeeSchedule
from hiero_sdk_python.hapi.mirror.consensus_service_pb2 import ConsensusTopicQuery, ConsensusTopicResponse
from hiero_sdk_python.hapi.mirror.mirror_network_service_pb2 import AddressBookQuery
from hiero_sdk_python.hapi.services.auxiliary.tss.ledger_id_publication_pb2 import (
    LedgerIdPublicationTransactionBody,
)
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountAmount,
    AccountID,
    ContractID,
    CurrentAndNextFeeSchedule,
    FileID,
    HederaFunctionality,
    HookEntityId,
    HookId,
    Key,
    KeyList,
    NftTransfer,
    NodeAddress,
    NodeAddressBook,
    PendingAirdropId,
    ScheduleID,
    SemanticVersion,
    ServiceEndpoint,
    ServicesConfigurationList,
    SignatureMap,
    SignaturePair,
    ThresholdKey,
    TokenAssociation,
    TokenBalance,
    TokenBalances,
    TokenID,
    TokenTransferList,
    TopicID,
    TransactionID,
    TransferList,
)
from hiero_sdk_python.hapi.services.contract_types_pb2 import (
    ContractFunctionResult,
    ContractLoginfo,
    EvmTransactionResult,
)
from hiero_sdk_python.hapi.services.crypto_create_pb2 import CryptoCreateTransactionBody
from hiero_sdk_python.hapi.services.crypto_delete_pb2 import CryptoDeleteTransactionBody
from hiero_sdk_python.hapi.services.crypto_get_info_pb2 import CryptoGetInfoResponse
from hiero_sdk_python.hapi.services.crypto_transfer_pb2 import CryptoTransferTransactionBody
from hiero_sdk_python.hapi.services.crypto_update_pb2 import CryptoUpdateTransactionBody
from hiero_sdk_python.hapi.services.custom_fees_pb2 import (
    AssessedCustomFee,
    CustomFee,
    CustomFeeLimit,
    FeeExemptKeyList,
    FixedFee,
    FractionalFee,
    RoyaltyFee,
)
from hiero_sdk_python.hapi.services.exchange_rate_pb2 import ExchangeRateSet
from hiero_sdk_python.hapi.services.file_update_pb2 import FileUpdateTransactionBody
from hiero_sdk_python.hapi.services.freeze_pb2 import FreezeTransactionBody
from hiero_sdk_python.hapi.services.registered_service_endpoint_pb2 import RegisteredServiceEndpoint
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum
from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import SchedulableTransactionBody
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody
from hiero_sdk_python.hapi.services.transaction_receipt_pb2 import TransactionReceipt
from hiero_sdk_python.hapi.services.transaction_record_pb2 import PendingAirdropRecord, TransactionRecord
from hiero_sdk_python.hapi.streams.account_balance_file_pb2 import (
    AllAccountBalances,
    SingleAccountBalances,
    TokenUnitBalance,
)
from hiero_sdk_python.hapi.streams.contract_action_pb2 import ContractAction, ContractActions
from hiero_sdk_python.hapi.streams.contract_bytecode_pb2 import ContractBytecode
from hiero_sdk_python.hapi.streams.contract_state_change_pb2 import (
    ContractStateChange,
    ContractStateChanges,
    StorageChange,
)
from hiero_sdk_python.hapi.streams.hash_object_pb2 import HashObject
from hiero_sdk_python.hapi.streams.record_stream_file_pb2 import (
    RecordStreamFile,
    RecordStreamItem,
    SidecarMetadata,
)
from hiero_sdk_python.hapi.streams.sidecar_file_pb2 import SidecarFile, TransactionSidecarRecord
from hiero_sdk_python.hapi.streams.signature_file_pb2 import SignatureFile, SignatureObject

AccountInfo = CryptoGetInfoResponse.AccountInfo

_TEXT, _MESSAGE = 9, 11  # field types of a descriptor: string, message
_MAX_DEPTH = 100  # nesting the compiled classes accept


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
