"""Network administration: freeze, system delete and undelete. Which file or contract a transaction is
about.
"""

from typing import Any

from ledger.ingest.batch import Batch
from ledger.ingest.registry import names_entity
from ledger.stream.item import RecordItem
from mirror.values import entity_id


@names_entity("FREEZE")
def update_file(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_file(item.body.freeze.update_file)


@names_entity("SYSTEMDELETE")
def system_deleted(item: RecordItem, rows: Batch) -> int:
    return _file_or_contract(item.body.systemDelete, rows)


@names_entity("SYSTEMUNDELETE")
def system_undeleted(item: RecordItem, rows: Batch) -> int:
    return _file_or_contract(item.body.systemUndelete, rows)


def _file_or_contract(body: Any, rows: Batch) -> int:
    chosen = body.WhichOneof("id")
    if chosen == "contractID":
        return rows.lookup.contract(body.contractID)
    return entity_id.of_file(body.fileID) if chosen == "fileID" else 0
