"""The contract transaction in the path: `contracts/results/{transactionIdOrHash}` and what is below it."""

import re

from contracts.queries import results as queries
from contracts.queries.results import Place
from mirror.rest.errors import NotFound
from mirror.rest.timestamps import nanoseconds
from mirror.rest.transaction_ids import read_transaction_id

# 48 bytes are a ledger hash, of which the first 32 are kept.
_HASH = re.compile(r"(?:0x)?([0-9a-fA-F]{64})(?:[0-9a-fA-F]{32})?")


def find_transaction(text: str, nonce: int = 0) -> Place:
    """The contract transaction of a hash, or of a transaction id and nonce.

    Errors: BadRequest, InvalidEntityId; NotFound.
    """
    if digits := _HASH.fullmatch(text):
        place = queries.place_of_hash(bytes.fromhex(digits[1]))
    else:
        payer, valid_start = read_transaction_id(text)
        within = nanoseconds("rest.query.maxTransactionConsensusTimestampRange")
        place = queries.place_of_id(payer, valid_start, nonce, within=within)
    if place is None:
        raise NotFound
    return place
