"""Importing the modules registers their handlers (`ledger.ingest.rows.registry.load_handlers`)."""

from tokens.handlers import airdrop, allowance, nft, relationship, supply, token, transfer

__all__ = ["airdrop", "allowance", "nft", "relationship", "supply", "token", "transfer"]
