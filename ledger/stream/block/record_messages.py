"""Records of transactions in blocks as messages that are parsed right from a TransactionResult.

Such a message has the fields of TransactionRecord. Those that a result has, too, have their numbers there, so
that nothing has to be copied from one message to the other; the rest is for what completes the record. All
records of a block are in one message: messages of their own would take four times the memory.
"""

from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message_factory import GetMessageClass

from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import TransactionRecord, TransactionResult

# The fields of a result that have another name in a record.
_NAMES = {
    "consensus_timestamp": "consensusTimestamp",
    "schedule_ref": "scheduleRef",
    "token_transfer_lists": "tokenTransferLists",
    "transaction_fee_charged": "transactionFee",
    "transfer_list": "transferList",
}
# What is added to the numbers of fields that only records have.
_RECORD_ONLY = 1_000


def _described() -> FileDescriptorProto:
    results, records = TransactionResult.DESCRIPTOR, TransactionRecord.DESCRIPTOR
    record, result = DescriptorProto(), DescriptorProto()
    records.CopyToProto(record)
    results.CopyToProto(result)
    record.name = "Record"
    by_name = {field.name: field for field in record.field}
    for field in record.field:
        field.number += _RECORD_ONLY
    for field in result.field:
        name = _NAMES.get(field.name, field.name)
        if name in by_name:
            by_name[name].number = field.number
        else:
            record.field.add().CopyFrom(field)
    whole = DescriptorProto(name="Records")
    whole.field.add(
        name="records",
        number=1,
        type=FieldDescriptorProto.TYPE_MESSAGE,
        label=FieldDescriptorProto.LABEL_REPEATED,
        type_name=".ledger.block.Record",
    )
    types = [*records.fields, *results.fields]
    files = {field.message_type.file.name for field in types if field.message_type}
    files |= {field.enum_type.file.name for field in types if field.enum_type}
    return FileDescriptorProto(
        name="ledger/block/records.proto",
        package="ledger.block",
        syntax="proto3",
        dependency=sorted(files),
        message_type=[record, whole],
    )


_FILE = descriptor_pool.Default().AddSerializedFile(_described().SerializeToString())
#: A message with the records of a block in its repeated field `records`.
Records: Any = GetMessageClass(_FILE.message_types_by_name["Records"])
# The number of a field there -> in a TransactionRecord.
_NUMBERS = {
    field.number: TransactionRecord.DESCRIPTOR.fields_by_name[field.name].number
    for field in _FILE.message_types_by_name["Record"].fields
    if field.name in TransactionRecord.DESCRIPTOR.fields_by_name
}


def transaction_record(record: Any) -> Any:
    data: bytes = record.SerializeToString()
    parts: list[bytes] = []
    for field in wire.fields(data):
        if (number := _NUMBERS.get(field.number)) is not None:
            tag = wire.encode_varint(field.number << 3 | field.wire_type)
            rest = data[field.start + len(tag) : field.end]
            parts += (wire.encode_varint(number << 3 | field.wire_type), rest)
    return TransactionRecord.FromString(b"".join(parts))
