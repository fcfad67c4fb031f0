"""System files that say something about the network itself: the address books 0.0.101 and 0.0.102.

A book often needs several transactions: an update with its first part, then appends. Whatever of it has
arrived is tried; what cannot be read yet is a part. Exchange rates, fee schedules and the like are read where
they are asked for, from `file_data`.
"""

import logging

from django.db.backends.utils import CursorWrapper

from ledger.ingest.batch import Batch
from ledger.ingest.registry import at_start, handles
from ledger.stream.errors import StreamFileError
from ledger.stream.record.item import RecordItem
from mirror import config
from mirror.values import entity_id
from mirror.values.transaction_types import NUMBERS
from network import bundled
from network.handlers.address_book import store_address_book

log = logging.getLogger(__name__)

ADDRESS_BOOK_NUMS = (101, 102)
# The file a network's first book would have been in.
BOOTSTRAP_NUM = 102

# Changes of the book files that no book of the file follows; by the index file_data__id_timestamp.
_CHANGES = """
    select entity_id, consensus_timestamp from file_data change
    where entity_id = any(%(files)s) and length(file_data) > 0 and consensus_timestamp >= coalesce(
        (select max(start_consensus_timestamp) from address_book where file_id = change.entity_id), 0)
    order by consensus_timestamp"""

_CONTENT = """
    with start as (
        select max(consensus_timestamp) as at from file_data
        where entity_id = %(file)s and consensus_timestamp <= %(at)s and length(file_data) > 0
            and transaction_type in (%(create)s, %(update)s)
    )
    select file_data from file_data, start
    where entity_id = %(file)s and consensus_timestamp >= start.at and consensus_timestamp <= %(at)s
    order by consensus_timestamp"""


@handles("FILECREATE", "FILEUPDATE", "FILEAPPEND")
def address_book_change(item: RecordItem, batch: Batch) -> None:
    """An address book may be complete now. Rows: address_book, address_book_entry and
    address_book_service_endpoint insert; the end of the book before.

    It is read from `file_data` once that holds the transaction's part.
    """
    if entity_id.decode(item.entity_id)[2] in ADDRESS_BOOK_NUMS:
        batch.barrier(complete_address_books)


@at_start
def begin(cursor: CursorWrapper) -> None:
    """Give the network its first book, and read what an earlier version of this program left unread."""
    cursor.execute("select exists (select from address_book)")
    if not cursor.fetchone()[0] and (book := bundled.address_book()):
        store_address_book(cursor, book, file=_file(BOOTSTRAP_NUM), at=0)
    complete_address_books(cursor)


def complete_address_books(cursor: CursorWrapper) -> None:
    """Read the books in the changes of the files that are newer than their last book."""
    cursor.execute(_CHANGES, {"files": [_file(num) for num in ADDRESS_BOOK_NUMS]})
    for file, at in cursor.fetchall():
        values = {"file": file, "at": at, "create": NUMBERS["FILECREATE"], "update": NUMBERS["FILEUPDATE"]}
        cursor.execute(_CONTENT, values)
        content = b"".join(bytes(part) for (part,) in cursor.fetchall())
        try:
            store_address_book(cursor, content, file=file, at=at)
        except StreamFileError as error:
            log.info("event=address_book file=%d consensus_timestamp=%d problem=%r", file, at, str(error))


def _file(num: int) -> int:
    return entity_id.encode(config.value("common.shard"), config.value("common.realm"), num)
