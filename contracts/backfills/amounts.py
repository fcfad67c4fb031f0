"""Amounts that older releases stored otherwise: allowances that contracts have spent, and weibars.

They lowered the allowance of the payer instead of the contract's. Doing this twice would be wrong; the
position of the backfill makes sure that it is done once. Ethereum transactions had tinybars, and no lists as
JSON; a row that can't be decoded stays as it is, and in_weibars says so.
"""

import json

from ledger.ingest.rows.persist import Persist
from mirror.core import config
from mirror.core.db import statements
from mirror.core.db.schema.backfill import Backfill, KeyRange, execute_range
from mirror.core.values import ethereum
from mirror.core.values.ethereum import InvalidEthereumData

TOKEN_SYSTEM_CONTRACT_NUM = 359

# Each approved transfer lowers the allowance of the contract and raises that of the payer again, unless the
# allowance was granted later. Indexes: contract_result__id_timestamp, crypto_transfer__consensus_timestamp,
# the primary key of crypto_allowance.
_ENTRY = """
    with spent as (
        select c.entity_id as owner, r.sender_id, c.payer_account_id, c.amount, r.consensus_timestamp
        from contract_result r
        join crypto_transfer c on c.consensus_timestamp = r.consensus_timestamp
            and c.consensus_timestamp > %(after)s and c.consensus_timestamp <= %(to)s
        where r.consensus_timestamp > %(after)s and r.consensus_timestamp <= %(to)s
            and r.contract_id = %(system_contract)s and r.sender_id is not null
            and c.is_approval and c.amount < 0 and c.payer_account_id <> r.sender_id
            and c.errata is distinct from 'DELETE'
    ), entry as (
        select owner, sender_id as spender, amount, consensus_timestamp from spent
        union all
        select owner, payer_account_id, -amount, consensus_timestamp from spent
    )"""

# A loader may be about to replace an allowance by a later grant. Rows that an earlier statement has locked
# are read as they are after that. Without waiting for locks there is no deadlock with a loader.
_LOCK = f"""
    {_ENTRY}
    select from crypto_allowance a
    where (a.owner, a.spender) in (select owner, spender from entry) for update of a nowait"""

_MOVE = f"""
    {_ENTRY}, total as (
        select a.owner, a.spender, sum(entry.amount)::bigint as amount
        from entry join crypto_allowance a on a.owner = entry.owner and a.spender = entry.spender
        where lower(a.timestamp_range) < entry.consensus_timestamp
        group by a.owner, a.spender
    )
    update crypto_allowance a
    set amount = least(greatest(a.amount + total.amount, 0), a.amount_granted)
    from total
    where a.owner = total.owner and a.spender = total.spender"""


def move(keys: KeyRange) -> int:
    system_contract = config.own_id(TOKEN_SYSTEM_CONTRACT_NUM)
    statements.execute(_LOCK, keys._asdict() | {"system_contract": system_contract})
    return execute_range(_MOVE, keys, system_contract=system_contract)


SPENT_BY_CONTRACTS = Backfill(
    name="contract_allowances",
    table="contract_result",
    change=move,
    is_needed=lambda: Persist().track_allowance,
)


_ROWS = """
    select consensus_timestamp, data from ethereum_transaction
    where consensus_timestamp > %(after)s and consensus_timestamp <= %(to)s and not in_weibars"""
_UPDATE = """
    update ethereum_transaction t
    set gas_price = c.gas_price, max_fee_per_gas = c.max_fee, max_priority_fee_per_gas = c.priority_fee,
        value = c.value, access_list = c.access_list::jsonb, authorization_list = c.authorizations::jsonb,
        in_weibars = true
    from unnest(%s::bytea[], %s::bytea[], %s::bytea[], %s::bytea[], %s::text[], %s::text[], %s::bigint[])
        as c (gas_price, max_fee, priority_fee, value, access_list, authorizations, at)
    where t.consensus_timestamp = c.at"""


def decode(keys: KeyRange) -> int:
    changes = []
    for timestamp, data in statements.rows(_ROWS, keys._asdict()):
        try:
            decoded = ethereum.decode(bytes(data))
        except InvalidEthereumData:
            continue
        changes.append(
            (
                decoded.gas_price,
                decoded.max_fee_per_gas,
                decoded.max_priority_fee_per_gas,
                ethereum.signed_bytes(decoded.value),
                _json(decoded.access_list),
                _json(decoded.authorization_list),
                timestamp,
            )
        )
    if changes:
        statements.execute(_UPDATE, [list(column) for column in zip(*changes, strict=True)])
    return len(changes)


def _json(items: object) -> str | None:
    return None if items is None else json.dumps(items)


WEIBARS = Backfill(name="ethereum_weibars", table="ethereum_transaction", change=decode)
