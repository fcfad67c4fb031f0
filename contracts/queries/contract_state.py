"""The storage slots of a contract, now or at a time."""

from collections.abc import Sequence
from typing import NamedTuple

from mirror.core.db.reading.query import Query
from mirror.core.db.reading.scans import STEPS, scan_stepwise
from mirror.core.db.reading.sql import Comparison, Where, compare, fetch


class ContractSlot(NamedTuple):
    """One slot with its value, and the time of the last change."""

    slot: bytes
    value: bytes | None
    consensus_timestamp: int
    evm_address: bytes | None


def slots(contract_id: int, query: Query) -> list[ContractSlot]:
    """Return a page of a contract's slots by slot; slots are 32 bytes here."""
    # Indexes: the primary keys (contract_id, slot) and, once for all slots, (id).
    conditions = _where_contract(contract_id) + query.where
    statement = f"""
        select slot, value, modified_timestamp, (select evm_address from entity where id = %s)
        from contract_state {conditions.sql}
        order by slot {query.direction} limit {query.limit:d}
    """
    return [ContractSlot._make(row) for row in fetch(statement, (contract_id, *conditions.values))]


def slots_at(
    contract_id: int, timestamps: Sequence[Comparison], query: Query
) -> tuple[list[ContractSlot], bytes | None]:
    """Return slots as of their last change at these times, and after which to continue if time ran out."""
    # Index: contract_state_change__id_slot_timestamp (contract_id, slot, consensus_timestamp). Per slot one
    # entry is read to find the next slot, and one to find the last change, as a slot may have any number of
    # changes. The recursion ends when the page is full, or after some slots: of those without a change at
    # these times only the last one is returned.
    following = "<" if query.descending else ">"
    during = _where_contract(contract_id) + compare("consensus_timestamp", timestamps)

    def read(after: bytes | None) -> tuple[list[ContractSlot], bytes | None]:
        conditions = _where_contract(contract_id) + query.where
        if after is not None:
            conditions += Where((f"slot {following} %s",), (after,))
        statement = f"""
            with recursive known (slot, number) as (
                (
                    select slot, 1 from contract_state_change {conditions.sql}
                    order by slot {query.direction} limit 1
                )
                union all
                select next.slot, known.number + 1 from known, lateral (
                    select slot from contract_state_change {conditions.sql} and slot {following} known.slot
                    order by slot {query.direction} limit 1
                ) next
                where known.number < {STEPS:d}
            )
            select known.slot, coalesce(s.value_written, s.value_read), s.consensus_timestamp, e.evm_address,
                known.number
            from known
            left join lateral (
                select value_written, value_read, consensus_timestamp from contract_state_change
                {during.sql} and slot = known.slot order by consensus_timestamp desc limit 1
            ) s on true
            left join (select evm_address from entity where id = %s) e on true
            where s.consensus_timestamp is not null or known.number = {STEPS:d}
            limit {query.limit:d}
        """
        rows = fetch(statement, (*conditions.values, *conditions.values, *during.values, contract_id))
        more = bool(rows) and rows[-1][4] == STEPS
        return [ContractSlot(*row[:4]) for row in rows if row[2] is not None], rows[-1][0] if more else None

    return scan_stepwise(read, query.limit)


def _where_contract(contract_id: int) -> Where:
    return Where(("contract_id = %s",), (contract_id,))
