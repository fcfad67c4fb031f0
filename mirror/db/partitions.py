"""The monthly partitions of account_balance and token_balance."""

from django.db import connection


def create_ahead() -> None:
    """Create the partitions that are missing until a year from now; call it at start and now and then.

    A balance snapshot of a month without a partition can't be stored. The database's own procedure does it,
    so a database that was made by other software goes on with its own plan.
    """
    with connection.cursor() as cursor:
        cursor.execute("CALL create_mirror_node_time_partitions()")
