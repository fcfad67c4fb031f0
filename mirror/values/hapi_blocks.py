"""The protobuf classes of block streams (HIP-1056), apart from `hapi`: only loading blocks needs them."""

from mirror.values import hapi  # noqa: F401  (registers the bare package the classes lie in)

# isort: split
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
from hiero_sdk_python.hapi.block.stream.trace.smart_contract_service_pb2 import EvmTraceData
from hiero_sdk_python.hapi.block.stream.trace.trace_data_pb2 import TraceData

__all__ = [
    "Block",
    "BlockFooter",
    "BlockHeader",
    "BlockItem",
    "BlockProof",
    "EventHeader",
    "EvmTraceData",
    "RecordFileItem",
    "RoundHeader",
    "StateChange",
    "StateChanges",
    "TraceData",
    "TransactionOutput",
    "TransactionResult",
]
