"""Hashes of messages that paid a fee in tokens: the logs of these transfers are found by hash."""

from django.db.backends.utils import CursorWrapper

from ledger.ingest.rows.persist import Persist
from mirror.core.db.backfill import Backfill, Piece, changed
from mirror.core.values.hapi.transaction_types import NUMBERS

SUBMIT_MESSAGE = NUMBERS["CONSENSUSSUBMITMESSAGE"]

# Indexes: the primary keys of contract_log and transaction, transaction_hash__hash.
_INSERT = """
    insert into transaction_hash (consensus_timestamp, hash, hash_suffix, payer_account_id)
    select t.consensus_timestamp, substring(t.transaction_hash from 1 for 32),
        nullif(substring(t.transaction_hash from 33), ''), t.payer_account_id
    from transaction t
    where t.consensus_timestamp in (
            select consensus_timestamp from contract_log
            where consensus_timestamp > %(after)s and consensus_timestamp <= %(to)s)
        and t.consensus_timestamp > %(after)s and t.consensus_timestamp <= %(to)s
        and t.type = %(type)s and length(t.transaction_hash) in (32, 48)
        and not exists (
            select from transaction_hash h
            where substring(h.hash from 1 for 32) = substring(t.transaction_hash from 1 for 32)
                and h.consensus_timestamp = t.consensus_timestamp)"""

# The first time at which a topic asked for a fee.
_FIRST_FEE = """
    select min(lower(f.timestamp_range)) - 1 from (
        select entity_id, timestamp_range, fixed_fees from custom_fee
        union all select entity_id, timestamp_range, fixed_fees from custom_fee_history
    ) f
    join topic t on t.id = f.entity_id
    where jsonb_typeof(f.fixed_fees) = 'array' and f.fixed_fees <> '[]'"""


def add(cursor: CursorWrapper, piece: Piece) -> int:
    return changed(cursor, _INSERT, piece, type=SUBMIT_MESSAGE)


def _first_fee(cursor: CursorWrapper) -> int | None:
    cursor.execute(_FIRST_FEE)
    (first,) = cursor.fetchone()
    return None if first is None else int(first)


def _is_needed(cursor: CursorWrapper) -> bool:
    return Persist().transaction_hash and _first_fee(cursor) is not None


HASHES = Backfill(
    name="message_hashes", table="contract_log", change=add, oldest=_first_fee, is_needed=_is_needed
)
