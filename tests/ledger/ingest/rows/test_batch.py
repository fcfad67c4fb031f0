"""Batches while they wait for being written."""

from types import SimpleNamespace

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.lookups import EntityLookup, FileContents
from ledger.ingest.rows.persist import Persist


def test_batch_drops_transactions_once_their_rows_are_made():
    batch = Batch(EntityLookup(), Persist(), FileContents())
    batch.begin_file([object()])  # type: ignore[list-item]
    batch.state(SimpleNamespace).calls = batch.items

    batch.end_file()

    assert not batch.items
    assert batch.state(SimpleNamespace) == SimpleNamespace()
