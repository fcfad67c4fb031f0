"""Keeping the content of a node's database in a folder, and bringing it back into an empty one."""
