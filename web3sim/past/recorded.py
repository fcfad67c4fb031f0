"""The record of contract transactions beyond their results: logs, storage, and whether sidecars came.

Contracts are named by their addresses in the EVM; the tables have no leading zeros of numbers and topics.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mirror.core.db.reading.sql import Row
from web3sim.engine.interface import Address, Log, SlotChange
from web3sim.past.transactions import PastTransaction, addresses_of
from web3sim.state.database import Reading

_WORD = 32


@dataclass(slots=True)
class Recorded:
    """Logs in order, changes by contract and slot. `contracts` are all that took part. `has_sidecars`:
    something that only sidecars contain is stored.
    """

    logs: list[Log] = field(default_factory=list)
    changes: dict[tuple[Address, int], SlotChange] = field(default_factory=dict)
    created: set[Address] = field(default_factory=set)
    contracts: set[Address] = field(default_factory=set)
    has_sidecars: bool = False


def read_recorded(transactions: Sequence[PastTransaction], reading: Reading) -> Mapping[int, Recorded]:
    """By consensus timestamp. Errors: those of `reading`."""
    times = [each.consensus_timestamp for each in transactions]
    # Indexes: the primary keys, which all begin with the time.
    logs = reading.fetch(
        """
        select consensus_timestamp, contract_id, data, topic0, topic1, topic2, topic3 from contract_log
        where consensus_timestamp = any(%s) and synthetic is not true order by consensus_timestamp, index
        """,
        (times,),
    )
    changes = reading.fetch(
        """
        select consensus_timestamp, contract_id, slot, value_read, value_written from contract_state_change
        where consensus_timestamp = any(%s) and not migration
        """,
        (times,),
    )
    actions = reading.fetch(
        """
        select distinct consensus_timestamp, case when caller_type = 'CONTRACT' then caller end,
            recipient_contract
        from contract_action where consensus_timestamp = any(%s)
        """,
        (times,),
    )
    created = {each.consensus_timestamp: each.created_contract_ids or () for each in transactions}
    addresses = addresses_of(_contract_ids(logs, changes, actions, created), reading)
    records = {time: Recorded(created={addresses[id] for id in created[time]}) for time in times}
    for time, contract, data, *topics in logs:
        padded = tuple(topic.rjust(_WORD, b"\0") for topic in topics if topic is not None)
        records[time].logs.append(Log(addresses[contract], padded, bytes(data or b"")))
        records[time].contracts.add(addresses[contract])
    for time, contract, slot, value_read, value_written in changes:
        key = addresses[contract], int.from_bytes(slot, "big")
        written = None if value_written is None else int.from_bytes(value_written, "big")
        records[time].changes[key] = SlotChange(int.from_bytes(value_read or b"", "big"), written)
        records[time].contracts.add(addresses[contract])
        records[time].has_sidecars = True
    for time, *parties in actions:
        records[time].contracts |= {addresses[id] for id in parties if id}
        records[time].has_sidecars = True
    return records


def _contract_ids(
    logs: Sequence[Row], changes: Sequence[Row], actions: Sequence[Row], created: Mapping[int, Iterable[int]]
) -> Iterable[int]:
    yield from (row[1] for row in logs)
    yield from (row[1] for row in changes)
    for _, *parties in actions:
        yield from (id for id in parties if id)
    for ids in created.values():
        yield from ids
