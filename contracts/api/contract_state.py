"""GET /api/v1/contracts/{contractIdOrAddress}/state: the storage of a contract, now or at a time.

Source: contract_state; at a time contract_state_change. Slots and values: 32 bytes.
Errors: 400 malformed parameter or path. An unknown contract or address has no storage: an empty list.
"""

from collections.abc import Sequence
from functools import partial
from typing import TypedDict

from rest_framework.response import Response

from contracts.api import formats
from contracts.queries import contract_state as queries
from contracts.queries.contract_state import ContractSlot
from ledger.api.contract_names import OfContract, find_contract
from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Comparison, compare
from mirror.core.rest.paging.keyset import KeysetPagination
from mirror.core.rest.paging.links import classic_link
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.parameter_set import WITHOUT_NE, reject_ne
from mirror.core.values import entity_id, timestamp
from mirror.core.values.ethereum import stripped
from mirror.core.values.json_types import EntityId, EvmAddress, Hex, Timestamp, page_type

_WORD_LENGTH = 32


# PARAMETERS
class StateParameters(classic.PageParameters):
    order = classic.Order("asc")
    slot = classic.Word("slot", operators=WITHOUT_NE, help="Number of the storage slot.")
    timestamp = classic.Timestamp("timestamp", help="Time of the values.")


# QUERY
def state_rows(
    contract_id: int, parameters: StateParameters, query: Query
) -> tuple[list[ContractSlot], bytes | None]:
    """Return a page of slots, and the slot after which it continues if it came to no end."""
    if not parameters.timestamp:
        padded = [
            Comparison(operator, slot.to_bytes(_WORD_LENGTH, "big")) for operator, slot in parameters.slot
        ]
        return queries.slots(contract_id, query.filter(compare("slot", padded))), None
    compared = [Comparison(operator, stripped(slot)) for operator, slot in parameters.slot]
    # The state at an equal time is what was written by then.
    times = [Comparison("lte" if operator == "eq" else operator, at) for operator, at in parameters.timestamp]
    return queries.slots_at(contract_id, times, query.filter(compare("slot", compared)))


# JSON
class ContractSlotJson(TypedDict):
    """At a time there may be no value."""

    address: EvmAddress | None
    contract_id: EntityId | None
    timestamp: Timestamp | None
    slot: Hex
    value: Hex | None


def slots_json(slots: Sequence[ContractSlot], contract_id: int) -> list[ContractSlotJson]:
    """Return slots of one contract, which has one address in all of them."""
    address = formats.address(slots[0].evm_address, contract_id) if slots else None
    contract = entity_id.text(contract_id)
    return [
        {
            "address": address,
            "contract_id": contract,
            "timestamp": timestamp.text(consensus_timestamp),
            "slot": formats.word(slot),
            "value": formats.uint256(value),
        }
        for slot, value, consensus_timestamp, _ in slots
    ]


# VIEW
class ChangesPagination(KeysetPagination):
    """Changes are in the order of their slots' bytes without leading zeros, not of the numbers."""

    link = staticmethod(partial(classic_link, by_value=False))


class State(OfContract):
    """List the storage slots of a contract.

    With `timestamp` as they were at that time.
    """

    parameters, answers = StateParameters, page_type("State", state=ContractSlotJson)
    paging = {"slot": "slot"}

    def read(self, parameters: StateParameters, contract: str) -> Response:
        reject_ne(parameters.timestamp, "Not equals (ne) operator is not supported for timestamp")
        contract_id = find_contract(contract)
        if contract_id is None:
            return self.page("state", [])
        limit = self.query.limit
        query = self.query._replace(limit=limit + 1) if parameters.timestamp else self.query
        rows, seen_until = state_rows(contract_id, parameters, query)
        if parameters.timestamp:
            self.pagination_class = ChangesPagination
            if parameters.slot and seen_until is None and len(rows) <= limit:
                # The range ends with this page.
                self.paging = {}
            del rows[limit:]
        after = None if seen_until is None else formats.word(seen_until)
        return self.page("state", slots_json(rows, contract_id), after=after)
