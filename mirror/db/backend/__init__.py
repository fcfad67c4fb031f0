"""Django's PostgreSQL backend with the kinds of table in `mirror.db.tables`."""
