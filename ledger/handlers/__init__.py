"""Importing the modules registers their handlers (`ledger.ingest.rows.registry.load_handlers`)."""

from ledger.handlers import (
    account,
    allowance,
    file,
    genesis,
    prng,
    schedule,
    system,
    topic,
    transaction,
    transfer,
)

__all__ = [
    "account",
    "allowance",
    "file",
    "genesis",
    "prng",
    "schedule",
    "system",
    "topic",
    "transaction",
    "transfer",
]
