"""Importing the modules registers their handlers (`ledger.ingest.registry.load_handlers`)."""

from ledger.handlers import consensus, crypto, every, file, schedule, system

__all__ = ["consensus", "crypto", "every", "file", "schedule", "system"]
