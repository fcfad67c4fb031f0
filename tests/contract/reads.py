"""How many rows PostgreSQL has read for this connection's transaction, whether it then used them or not."""

from django.db import connection


def rows_read() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint from pg_stat_xact_user_tables"
        )
        (count,) = cursor.fetchone()
        return int(count or 0)
