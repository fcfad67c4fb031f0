"""Messages of topics as subscribers get them: ConsensusTopicResponse, encoded once for all of them."""

from contextlib import suppress
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from ledger.queries.topics import Message
from mirror.core.values import entity_id
from mirror.core.values.hapi import messages as hapi
from mirror.core.values.timestamp import NANOS_PER_SECOND

# The version of the running hash when a message doesn't name it.
_FIRST_KNOWN_HASH_VERSION = 3


class Delivery(NamedTuple):
    """A message, ready to be sent."""

    sequence_number: int
    consensus_timestamp: int
    data: bytes


def delivery(message: Message) -> Delivery:
    version = message.running_hash_version
    response = hapi.ConsensusTopicResponse(
        consensusTimestamp=_timestamp(message.consensus_timestamp),
        message=message.message,
        runningHash=message.running_hash,
        runningHashVersion=_FIRST_KNOWN_HASH_VERSION if version is None else version,
        sequenceNumber=message.sequence_number,
    )
    if message.chunk_num is not None:
        response.chunkInfo.number, response.chunkInfo.total = message.chunk_num, message.chunk_total or 0
        if (first := _initial_transaction_id(message)) is not None:
            response.chunkInfo.initialTransactionID.CopyFrom(first)
    return Delivery(message.sequence_number, message.consensus_timestamp, response.SerializeToString())


def _initial_transaction_id(message: Message) -> Any:
    """Return the TransactionID of the first chunk, by which clients find its other chunks."""
    if message.initial_transaction_id is not None:
        with suppress(DecodeError):
            return hapi.TransactionID.FromString(message.initial_transaction_id)
    payer, valid_start = message.payer_account_id, message.valid_start_timestamp
    if payer is None or valid_start is None:
        return None
    shard, realm, num = entity_id.decode(payer)
    account = hapi.AccountID(shardNum=shard, realmNum=realm, accountNum=num)
    return hapi.TransactionID(accountID=account, transactionValidStart=_timestamp(valid_start))


def _timestamp(nanoseconds: int) -> Any:
    seconds, nanos = divmod(nanoseconds, NANOS_PER_SECOND)
    return hapi.Timestamp(seconds=seconds, nanos=nanos)
