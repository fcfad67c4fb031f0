"""Logs of units that moved among more than two accounts, or by contracts before nodes logged that.

Older releases did not write them. The rules are those of `handlers.synthetic`; the lists of a record are in
the order of their tokens.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import connection

from contracts.backfills.logs import add_hashes
from contracts.handlers.blooms import bloom_of, united
from contracts.handlers.results import NODE_LOGS_SINCE
from contracts.handlers.synthetic import (
    FEW_LISTS,
    ONE_SIDED,
    TRANSFER,
    ZERO,
    account_topic,
    moves,
    number_bytes,
)
from ledger.ingest.rows.lookups import EvmAddresses
from ledger.ingest.rows.persist import Persist
from ledger.stream.record_item import HOOKS_NUM
from mirror.core import config
from mirror.core.db import statements
from mirror.core.db.schema.backfill import KeyRange
from mirror.core.values import entity_id

# The call that a log belongs to is that of a hook, or the parent, if the item ran a contract; else the item
# stands for a call of the token. The data of a log that a node has written has 32 bytes. Indexes: the primary
# keys of transaction, contract_result, contract_log and record_file; token_transfer__token_account_timestamp.
_MISSING_LOGS = """
    with moved as (
        select consensus_timestamp, token_id, array_agg(account_id::bigint) as accounts,
            array_agg(amount::bigint) as amounts, count(*) over (partition by consensus_timestamp) as lists
        from token_transfer
        where consensus_timestamp > %(after)s and consensus_timestamp <= %(to)s
        group by consensus_timestamp, token_id
    ), item as (
        select m.*, t.type, t.payer_account_id, t.nft_transfer, r.consensus_timestamp is not null as ran,
            coalesce(call.consensus_timestamp, m.consensus_timestamp) as at,
            coalesce(call.contract_id, m.token_id) as contract_id,
            coalesce(call.transaction_hash, r.transaction_hash, t.transaction_hash) as hash
        from moved m
        join transaction t on t.consensus_timestamp = m.consensus_timestamp
            and t.consensus_timestamp > %(after)s and t.consensus_timestamp <= %(to)s
        left join contract_result r on r.consensus_timestamp = m.consensus_timestamp
            and r.consensus_timestamp > %(after)s and r.consensus_timestamp <= %(to)s
            and r.function_result is not null
        left join lateral (
            select consensus_timestamp, contract_id, transaction_hash from contract_result c
            where c.consensus_timestamp >= t.parent_consensus_timestamp
                and c.consensus_timestamp < t.consensus_timestamp
                and (c.consensus_timestamp = t.parent_consensus_timestamp or c.contract_id = %(hooks)s)
                and c.function_result is not null and r.contract_id <> %(hooks)s
            order by c.consensus_timestamp desc limit 1
        ) call on true
        where r.consensus_timestamp is not null
            or cardinality(m.accounts) > 2 and t.type <> all(%(one_sided)s)
    )
    select block.consensus_start, block.consensus_end, item.consensus_timestamp, item.at, token_id, type, ran,
        contract_id, payer_account_id, hash, accounts, amounts
    from item cross join lateral (
        select consensus_start, consensus_end, array[
            coalesce(hapi_version_major, 0), coalesce(hapi_version_minor, 0), coalesce(hapi_version_patch, 0)
        ] as version
        from record_file where consensus_end >= item.consensus_timestamp order by consensus_end limit 1
    ) block
    where (not ran or block.version < array[%(major)s, %(minor)s, %(patch)s])
        and (%(many_lists)s or %(few_lists)s >= lists + (
            select count(distinct nft ->> 'token_id') from jsonb_array_elements(nft_transfer) nft))
        and not exists (
            select from contract_log l
            where l.consensus_timestamp = item.at and l.contract_id = item.contract_id
                and l.topic0 = %(transfer)s and l.topic3 is null and length(l.data) < 32)
    order by item.consensus_timestamp, token_id"""

_LOGS = """
    select consensus_timestamp, index, contract_id from contract_log
    where consensus_timestamp between %s and %s order by index"""
# In two steps, as no two logs of a transaction may have the same index in between.
_MOVE = """
    update contract_log l set index = -1 - c.new
    from unnest(%s::bigint[], %s::int[], %s::int[]) as c (at, old, new)
    where l.consensus_timestamp = c.at and l.index = c.old"""
_SET_INDEXES = """
    update contract_log set index = -1 - index
    where consensus_timestamp > %(after)s and consensus_timestamp <= %(to)s and index < 0"""
_INSERT = """
    insert into contract_log (bloom, consensus_timestamp, contract_id, data, index, payer_account_id,
        root_contract_id, synthetic, topic0, topic1, topic2, transaction_hash)
    values (%(bloom)s, %(consensus_timestamp)s, %(contract_id)s, %(data)s, %(index)s, %(payer_account_id)s,
        %(root_contract_id)s, true, %(topic0)s, %(topic1)s, %(topic2)s, %(transaction_hash)s)"""
_HASH_LENGTH = 32
_AFTER_OWN_LOGS = 1 << 63


class _TokenTransfers(NamedTuple):
    """Units of a token that moved in an item, and the call that their logs belong to."""

    block_start: int
    block_end: int
    item_timestamp: int
    consensus_timestamp: int
    token_id: int
    transaction_type: int
    ran_contract: bool
    contract_id: int
    payer_account_id: int
    transaction_hash: bytes
    accounts: list[int]
    amounts: list[int]


@dataclass
class _AddedLogs:
    """The logs to add: by block, with the place of each in it, and those that change the blooms."""

    by_block: dict[tuple[int, int], list[tuple[tuple[int, int], dict[str, Any]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    of_contracts: list[tuple[int, dict[str, Any], dict[str, Any]]] = field(default_factory=list)


def add(keys: KeyRange) -> int:
    """Insert the logs that a piece of blocks lacks, and give the others of these blocks their index."""
    persist = Persist()
    if not persist.synthetic_contract_logs:
        return 0
    major, minor, patch = NODE_LOGS_SINCE
    values = {
        "hooks": config.own_id(HOOKS_NUM),
        "one_sided": list(ONE_SIDED),
        "major": major,
        "minor": minor,
        "patch": patch,
        "many_lists": persist.synthetic_contract_logs_multi,
        "few_lists": FEW_LISTS,
        "transfer": TRANSFER,
    }
    missing = map(_TokenTransfers._make, statements.rows(_MISSING_LOGS, keys._asdict() | values))
    added = _logs(missing, persist.synthetic_evm_addresses)
    if not added.by_block:
        return 0
    _add_blooms(added)
    count = _insert(keys, added)
    add_hashes(keys)
    return count


def _logs(rows: Iterable[_TokenTransfers], with_addresses: bool) -> _AddedLogs:
    added, addresses = _AddedLogs(), EvmAddresses()
    for row in rows:
        for sender, receiver, amount in moves(
            row.transaction_type, list(zip(row.accounts, row.amounts, strict=True))
        ):
            log: dict[str, Any] = {
                "bloom": ZERO,
                "consensus_timestamp": row.consensus_timestamp,
                "contract_id": row.contract_id,
                "data": number_bytes(amount),
                "payer_account_id": row.payer_account_id,
                "root_contract_id": row.contract_id or None,
                "topic0": TRANSFER,
                "topic1": account_topic(sender),
                "topic2": account_topic(receiver),
                "topic3": None,
                "transaction_hash": bytes(row.transaction_hash)[:_HASH_LENGTH].ljust(_HASH_LENGTH, b"\0"),
            }
            position = row.item_timestamp, _AFTER_OWN_LOGS if row.ran_contract else row.token_id
            added.by_block[row.block_start, row.block_end].append((position, log))
            if not with_addresses:
                continue
            for column, account in (("topic1", sender), ("topic2", receiver)):
                if account:
                    addresses.fill(log, column, account)
            if row.ran_contract:
                address = {"evm": entity_id.long_zero(row.contract_id)}
                addresses.fill(address, "evm", row.contract_id)
                added.of_contracts.append((row.block_end, log, address))
    with connection.cursor() as cursor:
        addresses.write(cursor)
    return added


def _add_blooms(added: _AddedLogs) -> None:
    for block, log, address in added.of_contracts:
        log["bloom"] = bloom_of(log, address["evm"])
        for table, bloom, key, at in (
            ("contract_result", "bloom", "consensus_timestamp", log["consensus_timestamp"]),
            ("record_file", "logs_bloom", "consensus_end", block),
        ):
            for before in statements.column(f"select {bloom} from {table} where {key} = %s for update", [at]):
                after = united(before and bytes(before), log["bloom"])
                statements.execute(f"update {table} set {bloom} = %s where {key} = %s", [after, at])


def _insert(keys: KeyRange, added: _AddedLogs) -> int:
    renumbered: list[tuple[int, int, int]] = []
    logs: list[dict[str, Any]] = []
    for block, missing in added.by_block.items():
        stored: list[tuple[tuple[int, int], Any]] = []
        position = (0, 0)
        # The logs of what a contract caused have the time of the call, but come later.
        for timestamp, index, token in statements.rows(_LOGS, block):
            position = max(position, (timestamp, token))
            stored.append((position, (timestamp, index)))
        for index, (_, log) in enumerate(heapq.merge(stored, missing, key=lambda each: each[0])):
            if isinstance(log, dict):
                logs.append(log | {"index": index})
            elif log[1] != index:
                renumbered.append((*log, index))
    if renumbered:
        statements.execute(_MOVE, [list(column) for column in zip(*renumbered, strict=True)])
        statements.execute(_SET_INDEXES, keys._asdict())
    with connection.cursor() as cursor:
        cursor.executemany(_INSERT, logs)
    return len(logs) + len(renumbered)
