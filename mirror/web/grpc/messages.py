"""The messages that the gRPC API sends, encoded: those of topics once for all subscribers, and nodes."""

from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Address
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from ledger.queries.topics import Message
from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Row
from mirror.core.values import entity_id
from mirror.core.values.hapi import messages as hapi
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.web.grpc.requests import not_found
from network.queries import address_books

# The version of the running hash when a message doesn't name it.
_FIRST_KNOWN_HASH_VERSION = 3
_COLUMNS = """
    e.node_id, e.memo, e.public_key, coalesce(n.account_id, e.node_account_id), e.node_cert_hash,
    e.description, coalesce(s.stake, 0), coalesce(a.endpoints, '[]')
"""
# More than any network has.
_MAX_NODES = 100_000


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
    return hapi.TransactionID(accountID=_account(payer), transactionValidStart=_timestamp(valid_start))


def _account(encoded: int) -> Any:
    shard, realm, num = entity_id.decode(encoded)
    return hapi.AccountID(shardNum=shard, realmNum=realm, accountNum=num)


def _timestamp(nanoseconds: int) -> Any:
    seconds, nanos = divmod(nanoseconds, NANOS_PER_SECOND)
    return hapi.Timestamp(seconds=seconds, nanos=nanos)


def encoded_nodes(file_id: int) -> list[bytes]:
    """Return all nodes of the newest address book by id, each as a NodeAddress.

    Source: address_book and its entries; node, for account ids; the latest node_stake.
    Errors: CallError, psycopg.Error.
    """
    rows = address_books.nodes(file_id, _COLUMNS, Query(limit=_MAX_NODES))
    if not rows and not address_books.exists(file_id):
        raise not_found(file_id)
    return [_node(row).SerializeToString() for row in rows]


def _node(row: Row) -> Any:
    node_id, memo, public_key, account_id, cert_hash, description, stake, endpoints = row
    return hapi.NodeAddress(
        nodeId=node_id,
        memo=None if memo is None else memo.encode(),
        RSA_PubKey=public_key,
        nodeAccountId=_account(account_id),
        # The bytes of the hex text.
        nodeCertHash=cert_hash,
        description=description,
        stake=stake,
        serviceEndpoint=_endpoints(endpoints),
    )


def _endpoints(stored: Sequence[dict[str, Any]]) -> list[Any]:
    return [
        hapi.ServiceEndpoint(
            ipAddressV4=IPv4Address(each["ip_address_v4"]).packed if each["ip_address_v4"] else b"",
            port=each["port"],
            domain_name=each["domain_name"],
        )
        for each in stored
    ]
