"""Django's PostgreSQL backend, which also makes the kinds of table in `mirror.db.tables`."""
