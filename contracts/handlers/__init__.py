"""Importing the modules registers their handlers (`ledger.ingest.registry.load_handlers`)."""

from contracts.handlers import contract, ethereum, hook

__all__ = ["contract", "ethereum", "hook"]
