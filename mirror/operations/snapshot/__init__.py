"""Snapshots: what a node knows of the ledger at a block, for any other node."""
