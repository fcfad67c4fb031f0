"""Hooks (HIP-1195): their owners create and delete them, and set their storage."""

from typing import Any

from contracts.handlers.hook_storage import add_updates
from contracts.models import Hook
from ledger.ingest.batch import Batch
from ledger.ingest.registry import handles, names_entity
from ledger.stream.record.item import RecordItem


@handles("CRYPTOUPDATEACCOUNT", "CONTRACTUPDATEINSTANCE")
def hooks_deleted(item: RecordItem, batch: Batch) -> None:
    """Hooks their owner gives up. Source: body.hook_ids_to_delete. Rows: hook version."""
    if not item.entity_id:
        return
    for hook_id in _body(item).hook_ids_to_delete:
        batch.upsert(
            Hook, since=item.consensus_timestamp, owner_id=item.entity_id, hook_id=hook_id, deleted=True
        )


@handles("CRYPTOCREATEACCOUNT", "CRYPTOUPDATEACCOUNT", "CONTRACTCREATEINSTANCE", "CONTRACTUPDATEINSTANCE")
def hooks_created(item: RecordItem, batch: Batch) -> None:
    """Hooks of an account or contract. Source: body.hook_creation_details.

    Rows: hook version; hook_storage_change insert and hook_storage upsert of what a hook starts with.
    """
    if not item.entity_id:
        return
    for details in _body(item).hook_creation_details:
        _create(item, batch, details)


@names_entity("LAMBDASSTORE")
def hook_owner(item: RecordItem, batch: Batch) -> int:
    owner = item.body.hook_store.hook_id.entity_id
    if owner.HasField("account_id"):
        return batch.lookup.account(owner.account_id)
    return batch.lookup.contract(owner.contract_id)


@handles("LAMBDASSTORE")
def hook_store(item: RecordItem, batch: Batch) -> None:
    """The owner sets storage of its hook. Source: body.hook_store.

    Rows: hook_storage_change insert, hook_storage upsert.
    """
    body = item.body.hook_store
    if item.entity_id:
        add_updates(item, batch, item.entity_id, body.hook_id.hook_id, body.storage_updates)
    else:
        batch.recoverable(item, f"the owner of hook {body.hook_id.hook_id} is not known")


def _body(item: RecordItem) -> Any:
    """The body of the transaction's type."""
    return getattr(item.body, item.body.WhichOneof("data"))


def _create(item: RecordItem, batch: Batch, details: Any) -> None:
    if details.WhichOneof("hook") is None or not details.evm_hook.spec.HasField("contract_id"):
        batch.recoverable(item, f"hook {details.hook_id} is created without the contract it runs")
        return
    at = item.consensus_timestamp
    contract = batch.lookup.contract(details.evm_hook.spec.contract_id)
    batch.mention(contract)
    batch.upsert(
        Hook,
        since=at,
        owner_id=item.entity_id,
        hook_id=details.hook_id,
        admin_key=details.admin_key.SerializeToString() if details.HasField("admin_key") else None,
        contract_id=contract or None,
        created_timestamp=at,
        deleted=False,
        extension_point="ACCOUNT_ALLOWANCE_HOOK",
        type="LAMBDA",
    )
    add_updates(item, batch, item.entity_id, details.hook_id, details.evm_hook.storage_updates)
