"""Retention: dropping old rows, by command, and by settings while the node runs."""
