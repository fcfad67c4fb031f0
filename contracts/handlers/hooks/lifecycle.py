"""Hooks (HIP-1195) that accounts and contracts create and delete."""

from typing import Any

from contracts.handlers.hooks.storage import add_updates
from contracts.models import Hook
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles
from ledger.stream.record_item import RecordItem


@handles("CRYPTOUPDATEACCOUNT", "CONTRACTUPDATEINSTANCE")
def hooks_deleted(item: RecordItem, batch: Batch) -> None:
    """Delete hooks of an account or contract. Source: body.hook_ids_to_delete. Rows: hook version."""
    if not item.entity_id:
        return
    for hook_id in _body(item).hook_ids_to_delete:
        batch.upsert(
            Hook, since=item.consensus_timestamp, owner_id=item.entity_id, hook_id=hook_id, deleted=True
        )


@handles("CRYPTOCREATEACCOUNT", "CRYPTOUPDATEACCOUNT", "CONTRACTCREATEINSTANCE", "CONTRACTUPDATEINSTANCE")
def hooks_created(item: RecordItem, batch: Batch) -> None:
    """Create hooks of an account or contract. Source: body.hook_creation_details.

    Rows: hook version; hook_storage_change insert and hook_storage upsert of the initial storage.
    """
    if not item.entity_id:
        return
    for details in _body(item).hook_creation_details:
        _create(item, batch, details)


def _body(item: RecordItem) -> Any:
    """Return the body of the transaction's type."""
    return getattr(item.body, item.body.WhichOneof("data"))


def _create(item: RecordItem, batch: Batch, details: Any) -> None:
    # BODY
    if details.WhichOneof("hook") is None or not details.evm_hook.spec.HasField("contract_id"):
        batch.recoverable(item, f"hook {details.hook_id} is created without the contract it runs")
        return
    timestamp = item.consensus_timestamp
    contract = batch.lookup.contract(details.evm_hook.spec.contract_id)
    # ROWS
    batch.mention(contract)
    batch.upsert(
        Hook,
        since=timestamp,
        owner_id=item.entity_id,
        hook_id=details.hook_id,
        admin_key=details.admin_key.SerializeToString() if details.HasField("admin_key") else None,
        contract_id=contract or None,
        created_timestamp=timestamp,
        deleted=False,
        extension_point="ACCOUNT_ALLOWANCE_HOOK",
        type="EVM",
    )
    add_updates(item, batch, item.entity_id, details.hook_id, details.evm_hook.storage_updates)
