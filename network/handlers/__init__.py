"""Importing the modules registers their handlers (`ledger.ingest.registry.load_handlers`)."""

from network.handlers import node, stake, system_files

__all__ = ["node", "stake", "system_files"]
