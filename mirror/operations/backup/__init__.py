"""Backup of a node's database into a folder, and restore into an empty one."""
