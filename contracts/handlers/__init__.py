"""Importing the modules registers their handlers (`ledger.ingest.registry.load_handlers`)."""

from contracts.handlers import contract, ethereum, hook, results, synthetic_logs

__all__ = ["contract", "ethereum", "hook", "results", "synthetic_logs"]
