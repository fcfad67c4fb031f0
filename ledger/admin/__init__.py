from ledger.admin import blocks, custom_fees, entities, files, hbar, schedules, topics, transactions

__all__ = ["blocks", "custom_fees", "entities", "files", "hbar", "schedules", "topics", "transactions"]
