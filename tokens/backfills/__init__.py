"""Changes of this app's rows that an older release has written."""
