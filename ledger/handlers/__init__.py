"""Importing the modules registers their handlers (`ledger.ingest.registry.load_handlers`)."""

from ledger.handlers import allowance, consensus, crypto, every, file, schedule, system, util

__all__ = ["allowance", "consensus", "crypto", "every", "file", "schedule", "system", "util"]
