"""Upgrading a database that an older release has filled: its backfills, their runner, what is left to do."""
