"""Upgrading a database that an older release has filled: the backfills, their runner, their progress."""
