"""Databases the migrations meet: an empty one of an ordinary owner, and one that has its tables already."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from tests.mirror.db.describe import describe, djangos_tables

ALIAS = "adopted"
STATEMENT = Path(__file__).with_name("schema.json")


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


def test_a_database_with_the_tables_is_adopted_as_it_is(other: BaseDatabaseWrapper) -> None:
    call_command("migrate", database=ALIAS, verbosity=0)
    with other.cursor() as cursor:
        for table in djangos_tables():
            cursor.execute(f'DROP TABLE IF EXISTS "{table}" CASCADE')
        cursor.execute(
            "INSERT INTO crypto_transfer (entity_id, consensus_timestamp, amount, payer_account_id) "
            "VALUES (3, 1, 10, 2)"
        )
    before = describe(other)

    call_command("migrate", database=ALIAS, verbosity=0, fake_initial=True)

    assert describe(other) == before
    call_command("migrate", database=ALIAS, check_unapplied=True)  # exits when something is pending
    with other.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM crypto_transfer")
        assert cursor.fetchone() == (1,)


def test_an_owner_who_is_no_superuser_gets_the_whole_schema(other: BaseDatabaseWrapper) -> None:
    call_command("migrate", database=ALIAS, verbosity=0)

    assert describe(other) == json.loads(STATEMENT.read_text())


def test_the_migrations_can_be_taken_back(other: BaseDatabaseWrapper) -> None:
    call_command("migrate", database=ALIAS, verbosity=0)

    for app in ("ledger", "mirror", "web3sim"):
        call_command("migrate", app, "zero", database=ALIAS, verbosity=0)

    left = describe(other)
    assert left.pop("schemas") == ["public"]
    assert not any(left.values()), left
