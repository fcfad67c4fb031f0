"""Hooks (HIP-1195). Which account or contract a storage update is about."""

from ledger.ingest.batch import Batch
from ledger.ingest.registry import names_entity
from ledger.stream.item import RecordItem


@names_entity("LAMBDASSTORE")
def hook_owner(item: RecordItem, rows: Batch) -> int:
    owner = item.body.hook_store.hook_id.entity_id
    if owner.HasField("account_id"):
        return rows.lookup.account(owner.account_id)
    return rows.lookup.contract(owner.contract_id)
