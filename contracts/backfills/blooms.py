"""Blooms of synthetic logs, of their results and blocks, and marks of the synthetic logs that lack them.

Older releases gave such a log one byte in place of a bloom, which no node does, and marked only transfers of
units. They wrote amounts of 0 as no data, and a transfer of a serial that does not exist for changes of
treasury.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from contracts.handlers.blooms import bloom_of, united
from contracts.handlers.synthetic import ZERO
from mirror.core.db import statements
from mirror.core.db.schema.backfill import Backfill, KeyRange, execute_range
from mirror.core.values import entity_id

_TOPICS = ("topic0", "topic1", "topic2", "topic3")
# Indexes: the primary keys of contract_log, entity and record_file. A log belongs to the first block that
# ends at its time or later, unless that starts after it.
_LOGS = f"""
    select l.consensus_timestamp, l.index, l.contract_id, e.evm_address, b.consensus_end, {", ".join(_TOPICS)}
    from contract_log l
    left join entity e on e.id = l.contract_id
    left join lateral (
        select consensus_start, consensus_end from record_file where consensus_end >= l.consensus_timestamp
        order by consensus_end limit 1
    ) b on b.consensus_start <= l.consensus_timestamp
    where l.consensus_timestamp > %(after)s and l.consensus_timestamp <= %(to)s and length(l.bloom) = 1"""
# Older releases logged a change of treasury as the transfer of a serial -1.
_DELETE = """
    delete from contract_log l
    where l.consensus_timestamp > %(after)s and l.consensus_timestamp <= %(to)s and length(l.bloom) = 1
        and l.topic3 = '\\xffffffffffffffff'"""
_SET_LOGS = """
    update contract_log l
    set bloom = c.bloom, synthetic = true, data = case when l.data = '' then %s else l.data end
    from unnest(%s::bigint[], %s::int[], %s::bytea[]) as c (at, index, bloom)
    where l.consensus_timestamp = c.at and l.index = c.index"""


def fill(keys: KeyRange) -> int:
    deleted = execute_range(_DELETE, keys)
    changes = []
    by_result, by_block = defaultdict[int, list[bytes]](list), defaultdict[int, list[bytes]](list)
    for at, index, contract, address, block, *topics in statements.rows(_LOGS, keys._asdict()):
        topic_bytes = [None if topic is None else bytes(topic) for topic in topics]
        log = dict(zip(_TOPICS, topic_bytes, strict=True))
        bloom = bloom_of(log, bytes(address) if address else entity_id.long_zero(contract))
        changes.append((at, index, bloom))
        by_result[at].append(bloom)
        by_block[block].append(bloom)
    if not changes:
        return deleted
    statements.execute(_SET_LOGS, [ZERO, *map(list, zip(*changes, strict=True))])
    _unite("contract_result", "bloom", "consensus_timestamp", by_result)
    _unite("record_file", "logs_bloom", "consensus_end", by_block)
    return deleted + len(changes)


def _unite(table: str, column: str, key: str, blooms: dict[int, list[bytes]]) -> None:
    """Unite the bloom of each row with the blooms of its logs; skip keys without a row."""
    stored: Iterable[Any] = statements.rows(
        f"select {key}, {column} from {table} where {key} = any(%s) for update", [list(blooms)]
    )
    changes = []
    for at, before in stored:
        after = bytes(before or b"")
        for bloom in blooms[at]:
            after = united(after, bloom)
        changes.append((at, after))
    if changes:
        statements.execute(
            f"update {table} t set {column} = c.bloom "
            f"from unnest(%s::bigint[], %s::bytea[]) as c (at, bloom) where t.{key} = c.at",
            list(map(list, zip(*changes, strict=True))),
        )


BLOOMS = Backfill(
    name="log_blooms", table="record_file", key="consensus_end", first="consensus_start", change=fill
)
