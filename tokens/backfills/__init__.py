"""Changes of rows about tokens that an older release has written."""
