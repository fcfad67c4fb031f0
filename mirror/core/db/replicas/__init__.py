"""Replicas of the database: requests read from them, and never see less than was shown before.

`servers` are the replicas and their primary, `shared_state` what a node's processes know of them,
`watching` finds that out, `block_requirement` the blocks that answers rest on, `reading` runs the statements.
"""
