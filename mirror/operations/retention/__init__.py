"""Dropping what is older than an operator wants to keep: by command, and by settings while the node runs."""
