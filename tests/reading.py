"""The role with which the web server reads, on the tests' database."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from django.db import connection

from mirror.core import config
from mirror.node.postgres import reader_role
from mirror.node.postgres.cluster import READER


def make_reader() -> str:
    """Let the role read the tests' database, and let the owner act as it; return its name."""
    if config.value("db.url"):
        # The server of DATABASE_URL, whose role has to be a superuser.
        reader_role.grant(READER)
        return READER
    parameters = connection.get_connection_params()
    superuser = psycopg.connect(**parameters | {"user": "postgres"}, autocommit=True)
    with superuser, suppress(psycopg.errors.DuplicateObject):
        superuser.execute(f"create role {READER} login")
    # Processes of tests share the server, and may do so at the same time.
    superuser = psycopg.connect(**parameters | {"user": "postgres"}, autocommit=True)
    with superuser, suppress(psycopg.errors.InternalError):
        superuser.execute(f'grant {READER} to "{parameters["user"]}"')
    reader_role.grant(READER)
    return READER


@contextmanager
def as_reader() -> Iterator[None]:
    """Act as the role in the block, within the transaction of a test."""
    role = make_reader()
    with connection.cursor() as cursor:
        cursor.execute(f"set local role {role}")
        yield
        cursor.execute("reset role")
