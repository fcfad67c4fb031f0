"""Contract logs: marks of the synthetic ones, transfers that both node and mirror have logged, and hashes.

The logs of a message that paid a fee in tokens are found by the hash of the message.
"""

from functools import partial

from contracts.handlers.synthetic import TRANSFER
from ledger.handlers.transaction import SUBMIT_MESSAGE
from ledger.ingest.rows.persist import Persist
from mirror.core.db import statements
from mirror.core.db.schema.backfill import Backfill, execute_range

# 2026-02-28T22:00, before which no node logged the token transfers of contracts.
_NODES_LOG_SINCE = 1_772_316_000_000_000_000

# Logs without a contract result are the mirror's own. Those of NFTs and approvals are not marked.
_MARK = """
    update contract_log l set synthetic = true
    where l.consensus_timestamp > %(after)s and l.consensus_timestamp <= %(to)s
        and l.synthetic is null and l.topic0 = %(transfer)s and l.topic3 is null
        and not exists (select from contract_result r where r.consensus_timestamp = l.consensus_timestamp)"""

_DELETE_DUPLICATES = """
    delete from contract_log l
    where l.consensus_timestamp > %(after)s and l.consensus_timestamp <= %(to)s
        and l.topic0 = %(transfer)s and length(l.data) <> 32
        and exists (
            select from contract_log o
            where o.consensus_timestamp = l.consensus_timestamp and o.contract_id = l.contract_id
                and o.topic0 = l.topic0 and o.topic1 is not distinct from l.topic1
                and o.topic2 is not distinct from l.topic2 and o.topic3 is not distinct from l.topic3
                and o.transaction_hash is distinct from l.transaction_hash and o.bloom <> l.bloom
                and length(o.data) = 32 and ltrim(o.data, '\\x00') = ltrim(l.data, '\\x00')
        )"""


# Indexes: the primary keys of contract_log and transaction, transaction_hash__hash.
_INSERT_HASHES = """
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


SYNTHETIC = Backfill(
    name="synthetic_logs", table="contract_log", change=partial(execute_range, _MARK, transfer=TRANSFER)
)
DUPLICATES = Backfill(
    name="duplicate_logs",
    table="contract_log",
    change=partial(execute_range, _DELETE_DUPLICATES, transfer=TRANSFER),
    oldest=lambda: _NODES_LOG_SINCE,
)


# HASHES
add_hashes = partial(execute_range, _INSERT_HASHES, type=SUBMIT_MESSAGE)


def _first_fee() -> int | None:
    first: int | None = statements.value(_FIRST_FEE)
    return first


HASHES = Backfill(
    name="message_hashes",
    table="contract_log",
    change=add_hashes,
    oldest=_first_fee,
    is_needed=lambda: Persist().transaction_hash and _first_fee() is not None,
)
