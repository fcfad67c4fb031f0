"""Importing the modules registers their handlers (`ledger.ingest.registry.load_handlers`)."""

from network.handlers import node

__all__ = ["node"]
