"""Backfilling history: what comes before, or between, what a node has loaded.

Balances, entities and all else that grows from file to file are right only if the files are loaded in their
order. So a backfill is an ordered load, of the wanted files and of those that are loaded already, into tables
of its own: copies in another schema. Meanwhile the node loads and answers. In the end the tables change
places in one transaction.
"""
