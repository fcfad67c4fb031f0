"""Importing the modules registers their handlers (`ledger.ingest.registry.load_handlers`)."""

from tokens.handlers import relationship, token

__all__ = ["relationship", "token"]
