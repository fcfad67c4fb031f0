from ledger.admin import blocks, entities, transactions

# After these, as it registers the tables that have no page yet.
from ledger.admin import tables  # isort: skip

__all__ = ["blocks", "entities", "tables", "transactions"]
