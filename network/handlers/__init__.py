"""Importing the modules registers their handlers (`ledger.ingest.rows.registry.load_handlers`)."""

from network.handlers import address_book, ledger, node, registered_node, stake

__all__ = ["address_book", "ledger", "node", "registered_node", "stake"]
