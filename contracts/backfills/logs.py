"""Contract logs: marks of the synthetic ones, and transfers that both node and mirror have logged."""

from django.db.backends.utils import CursorWrapper

from mirror.core.db.backfill import Backfill, Piece, changed

TRANSFER = bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
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


def mark(cursor: CursorWrapper, piece: Piece) -> int:
    return changed(cursor, _MARK, piece, transfer=TRANSFER)


def delete_duplicates(cursor: CursorWrapper, piece: Piece) -> int:
    return changed(cursor, _DELETE_DUPLICATES, piece, transfer=TRANSFER)


SYNTHETIC = Backfill(name="synthetic_logs", table="contract_log", change=mark)
DUPLICATES = Backfill(
    name="duplicate_logs",
    table="contract_log",
    change=delete_duplicates,
    oldest=lambda _: _NODES_LOG_SINCE,
)
