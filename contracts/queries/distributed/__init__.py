"""The second forms of statements, for tables that are distributed: see `ledger.queries.distributed`."""
