"""Ethereum transactions. Which contract one is about: the one its function result names by number."""

from ledger.ingest.batch import Batch
from ledger.ingest.registry import names_entity
from ledger.stream.item import RecordItem
from mirror.values import entity_id


@names_entity("ETHEREUMTRANSACTION")
def ethereum_contract(item: RecordItem, rows: Batch) -> int:
    result = item.function_result
    return entity_id.of_contract(result.contractID) if result is not None else 0
