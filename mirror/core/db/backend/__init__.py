"""Django's PostgreSQL backend with the kinds of table in `mirror.core.db.schema.tables`."""
