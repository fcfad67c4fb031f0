"""Consensus nodes (HIP-869). Which account a transaction is about; a deletion names none."""

from ledger.ingest.batch import Batch
from ledger.ingest.registry import names_entity
from ledger.stream.item import RecordItem
from mirror.values import entity_id


@names_entity("NODECREATE")
def created_node_account(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_account(item.body.nodeCreate.account_id)


@names_entity("NODEUPDATE")
def updated_node_account(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_account(item.body.nodeUpdate.account_id)
