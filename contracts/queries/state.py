"""The storage slots of a contract, now or at a time."""

from collections.abc import Sequence
from typing import NamedTuple

from mirror.db.query import Query
from mirror.db.sql import Comparison, Where, compare, fetch


class Slot(NamedTuple):
    """One slot with its value, and the time of the last change."""

    slot: bytes
    value: bytes | None
    consensus_timestamp: int
    evm_address: bytes | None


def slots(contract_id: int, query: Query) -> list[Slot]:
    """Return a page of a contract's slots by slot; slots are 32 bytes here."""
    # Indexes: the primary keys (contract_id, slot) and (id).
    conditions = _of(contract_id) + query.where
    statement = f"""
        select s.slot, s.value, s.modified_timestamp, e.evm_address
        from (
            select * from contract_state {conditions.sql}
            order by slot {query.direction} limit {query.limit:d}
        ) s
        left join entity e on e.id = s.contract_id
        order by s.slot {query.direction}
    """
    return [Slot(*row) for row in fetch(statement, conditions.values)]


def slots_at(contract_id: int, timestamps: Sequence[Comparison], query: Query) -> list[Slot]:
    """Return the same as of each slot's last change at these times; slots lack leading zero bytes here."""
    # Index: contract_state_change__id_slot_timestamp (contract_id, slot, consensus_timestamp). Per slot one
    # entry is read to find the next slot, and one to find the last change, as a slot may have any number of
    # changes. The recursion ends when the page is full.
    after = "<" if query.descending else ">"
    conditions = _of(contract_id) + query.where
    during = _of(contract_id) + compare("consensus_timestamp", timestamps)
    statement = f"""
        with recursive known as (
            (select slot from contract_state_change {conditions.sql} order by slot {query.direction} limit 1)
            union all
            select next.slot from known, lateral (
                select slot from contract_state_change {conditions.sql} and slot {after} known.slot
                order by slot {query.direction} limit 1
            ) next
        )
        select known.slot, coalesce(s.value_written, s.value_read), s.consensus_timestamp, e.evm_address
        from known
        join lateral (
            select value_written, value_read, consensus_timestamp from contract_state_change
            {during.sql} and slot = known.slot order by consensus_timestamp desc limit 1
        ) s on true
        left join (select evm_address from entity where id = %s) e on true
        limit {query.limit:d}
    """
    values = (*conditions.values, *conditions.values, *during.values, contract_id)
    return [Slot(*row) for row in fetch(statement, values)]


def _of(contract_id: int) -> Where:
    return Where(("contract_id = %s",), (contract_id,))
