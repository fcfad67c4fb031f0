"""Snapshots: the ledger at a block, as a node has it, for any other node."""
