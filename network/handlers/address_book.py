"""An address book's content -> its rows."""

from typing import Any

from django.db.backends.utils import CursorWrapper

from ledger.handlers.columns import text
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.address_book import account_of, node_id_of
from mirror.db.copy import columns_of, copy_rows
from mirror.values import hapi
from mirror.values.hapi import DecodeError, NodeAddressBook
from network.models import AddressBookEntry, AddressBookServiceEndpoint

_BOOK = """
    insert into address_book (start_consensus_timestamp, file_id, file_data, node_count)
    values (%s, %s, %s, %s) on conflict (start_consensus_timestamp) do nothing"""
_END_OF_THE_BOOK_BEFORE = """
    update address_book set end_consensus_timestamp = %(start)s - 1
    where file_id = %(file)s and start_consensus_timestamp < %(start)s and end_consensus_timestamp is null"""

# Lengths of the columns.
_MEMO, _DESCRIPTION, _IP_ADDRESS = 128, 100, 15


def store_address_book(cursor: CursorWrapper, content: bytes, *, file: int, at: int) -> None:
    """Store a book of the encoded `file` that holds after the consensus timestamp `at`; again: no change.

    Errors: StreamFileError when the content is not (yet) a book.
    """
    name, start = f"address book of {at}", at + 1
    try:
        book = hapi.parse(NodeAddressBook, content)
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
    cursor.execute(_BOOK, [start, file, content, len(entries)])
    if not cursor.rowcount:
        return
    cursor.execute(_END_OF_THE_BOOK_BEFORE, {"start": start, "file": file})
    copy_rows(cursor, "address_book_entry", columns_of(AddressBookEntry), entries.values())
    copy_rows(
        cursor, "address_book_service_endpoint", columns_of(AddressBookServiceEndpoint), sorted(endpoints)
    )


def ip_address(address: bytes) -> str:
    """An IPv4 address in dotted form; empty text when there is none."""
    return ".".join(map(str, address)) if len(address) == 4 else ""


def _entry(node: Any, node_id: int, account: int, start: int) -> list[Any]:
    """In the order of AddressBookEntry's columns."""
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
    """(IPv4 address, port, domain name): the single one of old books, and the list of newer ones."""
    found = []
    if node.ipAddress.strip():
        found.append((text(node.ipAddress.decode("utf-8", "replace")).strip()[:_IP_ADDRESS], node.portno, ""))
    for endpoint in node.serviceEndpoint:
        found.append((ip_address(endpoint.ipAddressV4), endpoint.port, text(endpoint.domain_name)))
    return found
