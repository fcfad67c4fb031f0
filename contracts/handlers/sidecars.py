"""Contract sidecars of a transaction, whatever its result: state changes, actions, bytecode."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db.backends.utils import CursorWrapper

from contracts.handlers.hooks import StorageChanges, add_storage
from contracts.models import Contract, ContractAction, ContractState, ContractStateChange
from ledger.ingest.rows.batch import Batch
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id
from mirror.core.values.entity_id import OutOfRangeEntityId
from mirror.core.values.hapi.messages import ContractAction as ActionMessage

SLOT_LENGTH = 32


_CREATE_CALL = 2  # enum CallType
_RESULT_DATA = {
    member.name: member.number for member in ActionMessage.DESCRIPTOR.oneofs_by_name["result_data"].fields
}


@dataclass(slots=True)
class SidecarFacts:
    """Facts about a contract result that only the sidecars of its item have.

    `gas_used` is that of the last action of depth 0; `contracts` are those whose state was read or written.
    """

    creation: bool = False
    gas_used: int | None = None
    has_bytecode: bool = False
    initcode: bytes = b""
    contracts: set[int] = field(default_factory=set)


def add_sidecars(item: RecordItem, batch: Batch) -> SidecarFacts:
    """Store the sidecars of an item. Source: item.sidecar_records.

    Rows: contract_state_change, contract_action insert; contract_state, contract upsert; for state changes
    of hook calls those of hook storage instead.
    """
    facts = SidecarFacts()
    migrated: list[int] = []
    of_hooks: dict[tuple[int, int], StorageChanges] = {}
    for sidecar in item.sidecar_records:
        kind = sidecar.WhichOneof("sidecar_records")
        if kind == "state_changes":
            _state_changes(item, batch, sidecar, facts, of_hooks)
        elif kind == "actions":
            _actions(item, batch, sidecar.actions.contract_actions, facts)
        elif kind == "bytecode" and sidecar.migration:
            migrated.append(_migrate(batch, sidecar.bytecode))
        elif kind == "bytecode":
            facts.creation = facts.has_bytecode = True
            facts.initcode = sidecar.bytecode.initcode
    for storage in of_hooks.values():
        storage.write()
    if migrated:
        batch.barrier(partial(_become_contracts, contracts=migrated))
    return facts


def _state_changes(
    item: RecordItem,
    batch: Batch,
    sidecar: Any,
    facts: SidecarFacts,
    of_hooks: dict[tuple[int, int], StorageChanges],
) -> None:
    timestamp, payer, migration = item.consensus_timestamp, item.payer_account_id, sidecar.migration
    hook_call = item.calls_hook
    add, change_state = batch.rows_for(ContractStateChange).append, batch.changes_for(ContractState).add
    for changes in sidecar.state_changes.contract_state_changes:
        contract = batch.lookup.contract(changes.contract_id)
        if hook_call and contract == item.entity_id:
            add_storage(item, batch, changes.storage_changes, of_hooks)
            continue
        if changes.storage_changes:
            facts.contracts.add(contract)
            batch.mention(contract)
        for change in changes.storage_changes:
            slot, written = change.slot, None
            if change.HasField("value_written"):
                written = change.value_written.value
            add((timestamp, contract, payer, slot, change.value_read, written, migration))
            if written is not None or migration:
                state = {
                    "contract_id": contract,
                    "slot": slot.rjust(SLOT_LENGTH, b"\0"),
                    "value": change.value_read if written is None else written,
                    "created_timestamp": timestamp,
                    "modified_timestamp": timestamp,
                }
                change_state(state, None)


def _actions(item: RecordItem, batch: Batch, actions: Any, facts: SidecarFacts) -> None:
    timestamp, payer = item.consensus_timestamp, item.payer_account_id
    for index, action in enumerate(actions):
        columns = _caller(item, batch, action) | _recipient(item, batch, action)
        result_data = action.WhichOneof("result_data")
        if result_data is None:
            batch.recoverable(item, f"contract action {index} has no result data")
            columns["result_data_type"] = 0
        else:
            columns["result_data"] = getattr(action, result_data)
            columns["result_data_type"] = _RESULT_DATA[result_data]
        batch.insert(
            ContractAction,
            call_depth=action.call_depth,
            call_operation_type=action.call_operation_type,
            call_type=action.call_type,
            consensus_timestamp=timestamp,
            gas=action.gas,
            gas_used=action.gas_used,
            index=index,
            input=action.input,
            payer_account_id=payer,
            value=action.value,
            **columns,
        )
        if action.call_depth == 0:
            facts.gas_used = action.gas_used
            facts.creation = action.call_type == _CREATE_CALL


def _caller(item: RecordItem, batch: Batch, action: Any) -> dict[str, Any]:
    kind, caller = _party(item, batch, action, "caller")
    if kind is None:
        batch.recoverable(item, "a contract action has no caller")
    return {"caller": caller, "caller_type": kind and kind.removeprefix("calling_").upper()}


def _recipient(item: RecordItem, batch: Batch, action: Any) -> dict[str, Any]:
    kind, recipient = _party(item, batch, action, "recipient")
    if kind == "targeted_address":
        return {"recipient_address": action.targeted_address}
    # A contract whose creation failed has no address.
    return {kind: recipient} if kind else {}


def _party(item: RecordItem, batch: Batch, action: Any, role: str) -> tuple[str | None, int | None]:
    """Return the field of a caller or recipient, and its id; None, and a problem, for one out of range."""
    kind = action.WhichOneof(role)
    if kind is None or kind == "targeted_address":
        return kind, None
    encoded = entity_id.from_contract if kind.endswith("contract") else entity_id.from_account
    entity = encoded(getattr(action, kind))
    if isinstance(entity, OutOfRangeEntityId):
        batch.recoverable(item, f"the {role} of a contract action is impossible: {entity.problem}")
    batch.mention(entity)
    return kind, entity or None


def _migrate(batch: Batch, bytecode: Any) -> int:
    """Store the code of a contract that is older than bytecode sidecars, and return the contract."""
    contract = batch.lookup.contract(bytecode.contract_id)
    batch.upsert(Contract, id=contract, runtime_bytecode=bytecode.runtime_bytecode)
    return contract


def _become_contracts(cursor: CursorWrapper, contracts: list[int]) -> None:
    """Make entities with code contracts, in all their versions."""
    for table in ("entity", "entity_history"):
        cursor.execute(
            f"update {table} set type = 'CONTRACT' where id = any(%s) and type <> 'CONTRACT'", [contracts]
        )
