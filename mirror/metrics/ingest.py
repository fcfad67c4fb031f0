"""Metrics of loading a stream."""

from mirror.metrics.kinds import Counter

FILES = Counter("mirror_ingest_files_total", "Stream files that were loaded and committed.")
TRANSACTIONS = Counter("mirror_ingest_transactions_total", "Transactions that were loaded and committed.")
