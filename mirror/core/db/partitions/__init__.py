"""Monthly partitions of the tables that grow with transactions, where db.partitions asks for them.

The tables are made whole. `partitioning` then makes each the first partition of a table of its name; `making`
adds months as files need them, `dropping` takes old ones away, and readers ask `reading` for time bounds.
"""
