"""A database beside that of the tests."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

ALIAS = "adopted"


@pytest.fixture
def other(django_db_setup: None, django_db_blocker: Any) -> Iterator[BaseDatabaseWrapper]:
    """An empty database whose owner is no superuser; the connection acts as that owner."""
    name = f"test_{ALIAS}_{os.getpid()}"
    settings = connection.settings_dict | {"NAME": name}
    owner = f"{name}_owner"

    with django_db_blocker.unblock():
        with connection._nodb_cursor() as cursor:
            cursor.execute("SELECT current_setting('is_superuser')::boolean")
            (superuser,) = cursor.fetchone()
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}"')
            cursor.execute(f'CREATE DATABASE "{name}"')
            if superuser:
                cursor.execute(f'DROP ROLE IF EXISTS "{owner}"')
                cursor.execute(f'CREATE ROLE "{owner}"')
                cursor.execute(f'ALTER DATABASE "{name}" OWNER TO "{owner}"')
                settings["OPTIONS"] = settings["OPTIONS"] | {"assume_role": owner}
        connections.databases[ALIAS] = settings
        try:
            yield connections[ALIAS]
        finally:
            connections[ALIAS].close()
            del connections[ALIAS], connections.databases[ALIAS]
            with connection._nodb_cursor() as cursor:
                cursor.execute(f'DROP DATABASE "{name}"')
                if superuser:
                    cursor.execute(f'DROP ROLE "{owner}"')
