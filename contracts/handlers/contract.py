"""Contract service. Which contract a transaction is about: the receipt's, if it does not resolve the
body's.
"""

from ledger.ingest.batch import Batch
from ledger.ingest.registry import names_entity
from ledger.stream.item import RecordItem


@names_entity("CONTRACTCALL")
def called_contract(item: RecordItem, rows: Batch) -> int:
    return created_contract(item, rows) or rows.lookup.contract(item.body.contractCall.contractID)


@names_entity("CONTRACTCREATEINSTANCE")
def created_contract(item: RecordItem, rows: Batch) -> int:
    return rows.lookup.contract(item.record.receipt.contractID)


@names_entity("CONTRACTUPDATEINSTANCE")
def updated_contract(item: RecordItem, rows: Batch) -> int:
    return created_contract(item, rows) or rows.lookup.contract(item.body.contractUpdateInstance.contractID)


@names_entity("CONTRACTDELETEINSTANCE")
def deleted_contract(item: RecordItem, rows: Batch) -> int:
    return created_contract(item, rows) or rows.lookup.contract(item.body.contractDeleteInstance.contractID)
