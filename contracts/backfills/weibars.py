"""Ethereum transactions in weibars: their prices, value and lists as the RLP has them.

Older releases stored tinybars, and no lists as JSON. A row that can't be decoded stays as it is; readers know
it by in_weibars.
"""

import json

from mirror.core.db import statements
from mirror.core.db.schema.backfill import Backfill, KeyRange
from mirror.core.values import ethereum
from mirror.core.values.ethereum import InvalidEthereumData

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
