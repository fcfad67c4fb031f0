"""Attacks on a running node, and what ordinary clients notice of each (SECURITY.md)."""
