"""Transactions that the stream lacks: their rows by the handlers of all transactions, marked INSERT.

They happened before what is stored. So objects that have versions are made where nothing is known of them,
and stay as they are elsewhere.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db import connection, models

from ledger.errata.folder import MissingTransaction
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.file_rows import FileRows
from ledger.ingest.rows.lookups import EntityLookup, FileContents
from ledger.ingest.rows.persist import Persist
from ledger.models import CryptoTransfer, Entity, Transaction
from mirror.core.db import statements
from mirror.core.db.schema.enums import ErrataType
from mirror.core.db.writing.copy import column_names

_ERRATA, _INDEX = map(column_names(Transaction).index, ("errata", "index"))
# Index: the primary key (consensus_timestamp).
_PRESENT = "select consensus_timestamp from transaction where consensus_timestamp = any(%s)"

# The amounts that accounts get, with their times.
Transfers = list[tuple[int, int, int]]


class ErrataBatch(Batch):
    """A batch that leaves stored objects with versions as they are."""

    def __init__(self) -> None:
        persist = Persist()
        # Balances are repaired at the end, as they have later transfers in them.
        persist.track_balance = False
        super().__init__(EntityLookup(), persist, FileContents())
        self._stored: dict[tuple[type[models.Model], tuple[Any, ...]], bool] = {}
        self.created_ids: set[int] = set()
        # Changes of stored objects that were left out, by table.
        self.skipped: Counter[str] = Counter()

    def upsert(self, model: type[models.Model], since: int | None = None, **columns: Any) -> None:
        if self._is_stored(model, columns):
            self.skipped[model._meta.db_table] += 1
            return
        if model is Entity:
            self.created_ids.add(columns["id"])
        super().upsert(model, since, **columns)

    def create_if_absent(self, model: type[models.Model], since: int, **columns: Any) -> None:
        if not self._is_stored(model, columns):
            super().create_if_absent(model, since, **columns)

    def _is_stored(self, model: type[models.Model], columns: dict[str, Any]) -> bool:
        """Return whether the object had versions before these transactions were added."""
        rule = model.merge  # type: ignore[attr-defined]
        if not rule.history:
            return False
        key = tuple(columns[name] for name in rule.key)
        if (model, key) not in self._stored:
            condition = " and ".join(f"{name} = %s" for name in rule.key)
            stored = statements.row(f'select from "{model._meta.db_table}" where {condition} limit 1', key)
            self._stored[model, key] = stored is not None
        return self._stored[model, key]


def add(missing: Sequence[MissingTransaction]) -> tuple[Transfers, ErrataBatch | None]:
    """Store the transactions that are not there; return the hbar that moved, and their batch."""
    present = set(statements.column(_PRESENT, [[each.item.consensus_timestamp for each in missing]]))
    new = [each for each in missing if each.item.consensus_timestamp not in present]
    if not new:
        return [], None
    batch, rows = ErrataBatch(), FileRows()
    for each in new:
        batch.begin_file([each.item])
        rows.add_item(batch, each.file, each.item)
        batch.end_file()
        # Its position in a block is not known.
        batch.transaction[_ERRATA], batch.transaction[_INDEX] = ErrataType.INSERT.value, None
    transfers = _mark_transfers(batch)
    with connection.cursor() as cursor:
        batch.write(cursor)
    return transfers, batch


def _mark_transfers(batch: Batch) -> Transfers:
    """Mark the transfers, but for those that did not happen, and return what moved."""
    names = column_names(CryptoTransfer)
    transfers: Transfers = []
    for rows in batch.row_lists(CryptoTransfer):
        for position, row in enumerate(rows):
            columns = dict(zip(names, row, strict=True))
            if columns["errata"] is None:
                columns["errata"] = ErrataType.INSERT.value
                rows[position] = tuple(columns.values())
                transfers.append((columns["entity_id"], columns["consensus_timestamp"], columns["amount"]))
    return transfers
