"""The one import of the HAPI protobuf classes, which come compiled with the Python SDK.

Importing the SDK itself would start its network client code, so a bare package of that name is registered
first; only the generated message modules below it are loaded.

`parse` reads a message that may hold text which is not UTF-8: the compiled classes refuse such a message as
a whole, although only one memo is bad.
"""

# ruff: noqa: E402  (the bare package has to be registered before the imports below it)

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from google.protobuf.message import DecodeError, Message

from mirror.values import wire

SDK = "hiero_sdk_python"

if SDK not in sys.modules:
    _spec = find_spec(SDK)
    if _spec is None or not _spec.submodule_search_locations:
        raise ImportError("the package hiero-sdk-python is missing: install requirements.txt")
    _package = ModuleType(SDK)
    _package.__path__ = list(_spec.submodule_search_locations)
    _package.__spec__ = _spec
    sys.modules[SDK] = _package

from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountAmount,
    AccountID,
    ContractID,
    CurrentAndNextFeeSchedule,
    FileID,
    HookCall,
    HookEntityId,
    HookId,
    Key,
    KeyList,
    NftTransfer,
    NodeAddress,
    NodeAddressBook,
    PendingAirdropId,
    PendingAirdropValue,
    ScheduleID,
    SemanticVersion,
    ServiceEndpoint,
    ServicesConfigurationList,
    Setting,
    SignatureMap,
    SignaturePair,
    StakingInfo,
    ThresholdKey,
    TokenAssociation,
    TokenID,
    TokenTransferList,
    TokenType,
    TopicID,
    TransactionID,
    TransferList,
)
from hiero_sdk_python.hapi.services.consensus_create_topic_pb2 import ConsensusCreateTopicTransactionBody
from hiero_sdk_python.hapi.services.consensus_delete_topic_pb2 import ConsensusDeleteTopicTransactionBody
from hiero_sdk_python.hapi.services.consensus_submit_message_pb2 import (
    ConsensusMessageChunkInfo,
    ConsensusSubmitMessageTransactionBody,
)
from hiero_sdk_python.hapi.services.consensus_update_topic_pb2 import ConsensusUpdateTopicTransactionBody
from hiero_sdk_python.hapi.services.contract_call_pb2 import ContractCallTransactionBody
from hiero_sdk_python.hapi.services.contract_create_pb2 import ContractCreateTransactionBody
from hiero_sdk_python.hapi.services.contract_delete_pb2 import ContractDeleteTransactionBody
from hiero_sdk_python.hapi.services.contract_types_pb2 import (
    ContractFunctionResult,
    ContractLoginfo,
    ContractNonceInfo,
)
from hiero_sdk_python.hapi.services.contract_update_pb2 import ContractUpdateTransactionBody
from hiero_sdk_python.hapi.services.crypto_approve_allowance_pb2 import (
    CryptoAllowance,
    CryptoApproveAllowanceTransactionBody,
    NftAllowance,
    TokenAllowance,
)
from hiero_sdk_python.hapi.services.crypto_create_pb2 import CryptoCreateTransactionBody
from hiero_sdk_python.hapi.services.crypto_delete_allowance_pb2 import (
    CryptoDeleteAllowanceTransactionBody,
    NftRemoveAllowance,
)
from hiero_sdk_python.hapi.services.crypto_delete_pb2 import CryptoDeleteTransactionBody
from hiero_sdk_python.hapi.services.crypto_transfer_pb2 import CryptoTransferTransactionBody
from hiero_sdk_python.hapi.services.crypto_update_pb2 import CryptoUpdateTransactionBody
from hiero_sdk_python.hapi.services.custom_fees_pb2 import (
    AssessedCustomFee,
    CustomFee,
    CustomFeeLimit,
    FeeExemptKeyList,
    FixedCustomFee,
    FixedFee,
    FractionalFee,
    RoyaltyFee,
)
from hiero_sdk_python.hapi.services.duration_pb2 import Duration
from hiero_sdk_python.hapi.services.ethereum_transaction_pb2 import EthereumTransactionBody
from hiero_sdk_python.hapi.services.exchange_rate_pb2 import ExchangeRate, ExchangeRateSet
from hiero_sdk_python.hapi.services.file_append_pb2 import FileAppendTransactionBody
from hiero_sdk_python.hapi.services.file_create_pb2 import FileCreateTransactionBody
from hiero_sdk_python.hapi.services.file_delete_pb2 import FileDeleteTransactionBody
from hiero_sdk_python.hapi.services.file_update_pb2 import FileUpdateTransactionBody
from hiero_sdk_python.hapi.services.freeze_pb2 import FreezeTransactionBody
from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import SchedulableTransactionBody
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody
from hiero_sdk_python.hapi.services.transaction_receipt_pb2 import TransactionReceipt
from hiero_sdk_python.hapi.services.transaction_record_pb2 import PendingAirdropRecord, TransactionRecord
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

__all__ = [
    "AccountAmount",
    "AccountID",
    "AssessedCustomFee",
    "ConsensusCreateTopicTransactionBody",
    "ConsensusDeleteTopicTransactionBody",
    "ConsensusMessageChunkInfo",
    "ConsensusSubmitMessageTransactionBody",
    "ConsensusUpdateTopicTransactionBody",
    "ContractAction",
    "ContractActions",
    "ContractBytecode",
    "ContractCallTransactionBody",
    "ContractCreateTransactionBody",
    "ContractDeleteTransactionBody",
    "ContractFunctionResult",
    "ContractID",
    "ContractLoginfo",
    "ContractNonceInfo",
    "ContractStateChange",
    "ContractStateChanges",
    "ContractUpdateTransactionBody",
    "CryptoAllowance",
    "CryptoApproveAllowanceTransactionBody",
    "CryptoCreateTransactionBody",
    "CryptoDeleteAllowanceTransactionBody",
    "CryptoDeleteTransactionBody",
    "CryptoTransferTransactionBody",
    "CryptoUpdateTransactionBody",
    "CurrentAndNextFeeSchedule",
    "CustomFee",
    "CustomFeeLimit",
    "DecodeError",
    "Duration",
    "EthereumTransactionBody",
    "ExchangeRate",
    "ExchangeRateSet",
    "FeeExemptKeyList",
    "FileAppendTransactionBody",
    "FileCreateTransactionBody",
    "FileDeleteTransactionBody",
    "FileID",
    "FileUpdateTransactionBody",
    "FixedCustomFee",
    "FixedFee",
    "FractionalFee",
    "FreezeTransactionBody",
    "HashObject",
    "HookCall",
    "HookEntityId",
    "HookId",
    "Key",
    "KeyList",
    "Message",
    "NftAllowance",
    "NftRemoveAllowance",
    "NftTransfer",
    "NodeAddress",
    "NodeAddressBook",
    "PendingAirdropId",
    "PendingAirdropRecord",
    "PendingAirdropValue",
    "RecordStreamFile",
    "RecordStreamItem",
    "RoyaltyFee",
    "SchedulableTransactionBody",
    "ScheduleID",
    "SemanticVersion",
    "ServiceEndpoint",
    "ServicesConfigurationList",
    "Setting",
    "SidecarFile",
    "SidecarMetadata",
    "SignatureFile",
    "SignatureMap",
    "SignatureObject",
    "SignaturePair",
    "SignedTransaction",
    "StakingInfo",
    "StorageChange",
    "ThresholdKey",
    "Timestamp",
    "TokenAllowance",
    "TokenAssociation",
    "TokenID",
    "TokenTransferList",
    "TokenType",
    "TopicID",
    "Transaction",
    "TransactionBody",
    "TransactionID",
    "TransactionReceipt",
    "TransactionRecord",
    "TransactionSidecarRecord",
    "TransferList",
    "parse",
]

_TEXT, _MESSAGE = 9, 11  # field types of a descriptor: string, message
_MAX_DEPTH = 100  # nesting the compiled classes accept


def parse(message_class: Any, data: bytes) -> Any:
    """The message in `data`. Text that is not UTF-8 reads with U+FFFD in place of the bad bytes.

    Errors: DecodeError when `data` is not such a message.
    """
    try:
        return message_class.FromString(data)
    except DecodeError as error:
        if "UTF-8" not in str(error):
            raise
    return message_class.FromString(_with_valid_text(message_class.DESCRIPTOR, data, _MAX_DEPTH))


def _with_valid_text(descriptor: Any, data: bytes, depth: int) -> bytes:
    """The same message with every string field made valid UTF-8; other bytes are kept as they are."""
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
