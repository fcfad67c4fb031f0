"""Importing the modules registers their handlers (`ledger.ingest.registry.load_handlers`)."""

from tokens.handlers import airdrop, allowance, every, nft, relationship, supply, token

__all__ = ["airdrop", "allowance", "every", "nft", "relationship", "supply", "token"]
