"""Importing the modules registers their handlers (`ledger.ingest.rows.registry.load_handlers`)."""

from contracts.handlers import contract, ethereum, results, synthetic
from contracts.handlers.hooks import lifecycle, storage

__all__ = ["contract", "ethereum", "lifecycle", "results", "storage", "synthetic"]
