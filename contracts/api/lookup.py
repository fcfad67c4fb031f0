"""The contract transaction in the path: `contracts/results/{transactionIdOrHash}` and what is below it."""

import re

from contracts.queries import searches
from contracts.queries.searches import Search
from ledger.api import not_loaded
from ledger.queries.timestamp_ranges import nanoseconds
from mirror.core.db.reading.sql import MAX_INT64
from mirror.core.rest.answers.errors import NotFound
from mirror.core.rest.parameters.entity_ids import read_transaction_id

# A ledger hash has 48 bytes, of which the first 32 are stored.
_HASH = re.compile(r"(?:0x)?([0-9a-fA-F]{64})(?:[0-9a-fA-F]{32})?")


def search_of(text: str, nonce: int = 0) -> Search:
    """Return the search for a hash, or an id and nonce. Errors: BadRequest, InvalidEntityId, NotFound."""
    if digits := _HASH.fullmatch(text):
        return searches.by_hash(bytes.fromhex(digits[1]))
    payer, valid_start = read_transaction_id(text)
    if valid_start > MAX_INT64:
        raise NotFound
    within = nanoseconds("rest.query.maxTransactionConsensusTimestampRange")
    return searches.by_id(payer, valid_start, nonce, until=min(valid_start + within, MAX_INT64))


def not_found(search: Search, table: str = "contract_result") -> NotFound:
    """Return the error for a search that finds nothing in a table."""
    first, last = search.times.lower, search.times.upper
    if first is None:
        return NotFound(detail=not_loaded.anything(table))
    is_moment = first == last
    return NotFound(detail=not_loaded.at(first, table) if is_moment else not_loaded.transaction(first, table))
