"""Address books in the files 0.0.101 and 0.0.102: from file_data to rows.

A book often needs several transactions: an update with its first part, then appends. So each part is tried
with those before it; content that is not a book yet is incomplete. Exchange rates and fee schedules are
decoded when they are read (`ledger.queries.system_files`).
"""

from typing import Any

from django.db.backends.utils import CursorWrapper

from ledger.file_content import content_parts
from ledger.handlers.columns import text
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import at_genesis, at_start, handles
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import GenesisState
from ledger.stream.record_item import RecordItem
from ledger.stream.signature.address_book import account_of, node_id_of
from mirror.core import config, logs
from mirror.core.db.writing.copy import copy_rows, table_columns
from mirror.core.values import entity_id
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import DecodeError, NodeAddressBook
from network import bundled
from network.models import AddressBookEntry, AddressBookServiceEndpoint

log = logs.logger(__name__)

ADDRESS_BOOK_NUMS = (101, 102)
# The file that would have had a network's first book.
BOOTSTRAP_NUM = 102

_STORED = "select exists (select from record_file), exists (select from address_book)"
_BOOK_TABLES = {
    "address_book": "start_consensus_timestamp",
    "address_book_entry": "consensus_timestamp",
    "address_book_service_endpoint": "consensus_timestamp",
}
# Changes of the address book files that are newer than the file's last book.
# Index: file_data__id_timestamp (entity_id, consensus_timestamp).
_CHANGES = """
    select entity_id, consensus_timestamp from file_data change
    where entity_id = any(%(files)s) and length(file_data) > 0 and consensus_timestamp >= coalesce(
        (select max(start_consensus_timestamp) from address_book where file_id = change.entity_id), 0)
    order by consensus_timestamp
"""

_CONTENT = content_parts("and consensus_timestamp <= %s", "and f.consensus_timestamp <= %s")

_INSERT = """
    insert into address_book (start_consensus_timestamp, file_id, file_data, node_count)
    values (%s, %s, %s, %s) on conflict (start_consensus_timestamp) do nothing
"""
_END_PREVIOUS = """
    update address_book set end_consensus_timestamp = %(start)s - 1
    where file_id = %(file)s and start_consensus_timestamp < %(start)s and end_consensus_timestamp is null
"""

# Lengths of the columns.
_MEMO, _DESCRIPTION, _IP_ADDRESS = 128, 100, 15


@handles("FILECREATE", "FILEUPDATE", "FILEAPPEND")
def address_book_change(item: RecordItem, batch: Batch) -> None:
    """Store the address book that a transaction completes, once file_data holds the transaction's part.

    Rows: address_book, address_book_entry and address_book_service_endpoint insert; end of the previous book.
    """
    if entity_id.decode(item.entity_id)[2] in ADDRESS_BOOK_NUMS:
        batch.barrier(complete_address_books)


@at_genesis
def first_books(state: GenesisState, timestamp: int, batch: Batch) -> None:
    """Store the address books that a network begins with. Rows: those of `address_book_change`."""
    if any(entity_id.decode(number)[2] in ADDRESS_BOOK_NUMS for number in state.files):
        batch.barrier(complete_address_books)


@at_start
def begin(cursor: CursorWrapper) -> None:
    """Store the network's first book, and books that an earlier version of this program could not read."""
    cursor.execute(_STORED)
    is_loaded, has_book = cursor.fetchone()
    if not (is_loaded and has_book) and (book := bundled.address_book()):
        if has_book:
            # The operator may have named another one since.
            for table, column in _BOOK_TABLES.items():
                cursor.execute(f"delete from {table} where {column} = 1")
        store_address_book(cursor, book, file=config.own_id(BOOTSTRAP_NUM), timestamp=0)
    complete_address_books(cursor)


def complete_address_books(cursor: CursorWrapper) -> None:
    """Store the books in changes of the files that are newer than their last book."""
    cursor.execute(_CHANGES, {"files": [config.own_id(num) for num in ADDRESS_BOOK_NUMS]})
    for file, at in cursor.fetchall():
        cursor.execute(_CONTENT, [file, at, file, at])
        content = b"".join(bytes(part) for part, _ in cursor.fetchall())
        try:
            store_address_book(cursor, content, file=file, timestamp=at)
        except StreamFileError as error:
            log.info("address_book_incomplete", file=file, consensus_timestamp=at, reason=str(error))


def store_address_book(cursor: CursorWrapper, content: bytes, *, file: int, timestamp: int) -> None:
    """Store a book of `file` that is valid after this time; idempotent. Errors: StreamFileError."""
    name, start = f"address book of {timestamp}", timestamp + 1
    try:
        book = messages.parse(NodeAddressBook, content)
    except DecodeError as error:
        raise StreamFileError(name, 0, f"not an address book ({error})") from error
    if not book.nodeAddress:
        raise StreamFileError(name, 0, "the address book has no nodes")
    entries, endpoints = dict[int, list[Any]](), set[tuple[Any, ...]]()
    for node in book.nodeAddress:
        account = account_of(name, node)
        node_id = node_id_of(node.nodeId, account)
        entries.setdefault(node_id, _entry(node, node_id, account, start))
        endpoints |= {(start, ip, node_id, port, domain) for ip, port, domain in _endpoints(node)}
    cursor.execute(_INSERT, [start, file, content, len(entries)])
    if not cursor.rowcount:
        return
    cursor.execute(_END_PREVIOUS, {"start": start, "file": file})
    copy_rows(cursor, "address_book_entry", table_columns(AddressBookEntry), entries.values())
    copy_rows(
        cursor, "address_book_service_endpoint", table_columns(AddressBookServiceEndpoint), sorted(endpoints)
    )


def ip_address(address: bytes) -> str:
    """Return an IPv4 address in dotted form; empty text when there is none."""
    return ".".join(map(str, address)) if len(address) == 4 else ""


def _entry(node: Any, node_id: int, account: int, start: int) -> list[Any]:
    """Return a node's values in the order of AddressBookEntry's columns."""
    return [
        start,
        text(node.memo.decode("utf-8", "replace"))[:_MEMO] or None,
        text(node.RSA_PubKey),
        node_id,
        account,
        node.nodeCertHash or None,
        text(node.description)[:_DESCRIPTION],
        node.stake,
    ]


def _endpoints(node: Any) -> list[tuple[str, int, str]]:
    """Return IPv4 address, port and domain name of each endpoint; old books have one, newer ones a list."""
    endpoints = []
    if node.ipAddress.strip():
        ip = text(node.ipAddress.decode("utf-8", "replace")).strip()[:_IP_ADDRESS]
        endpoints.append((ip, node.portno, ""))
    for endpoint in node.serviceEndpoint:
        endpoints.append((ip_address(endpoint.ipAddressV4), endpoint.port, text(endpoint.domain_name)))
    return endpoints
