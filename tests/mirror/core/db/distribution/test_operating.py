"""What the node tells and does with distributed tables."""

from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.db import connection

from ledger.models import Entity
from mirror.core.admin import lists
from mirror.core.config.setting import OperatorError
from mirror.core.db.distribution import cluster
from mirror.node.health import inventory
from tests.build import Build
from tests.cluster import needs_cluster


@needs_cluster
def test_rows_and_bytes_of_all_workers_are_told(transactional_db: None) -> None:
    build = Build()
    for number in range(1001, 1031):
        build.entity(number)
    with connection.cursor() as cursor:
        cursor.execute("analyze entity")
        whole = cluster.shards()

    assert whole.workers >= 1
    assert whole.silent == ()
    assert whole.rows["entity"] == inventory.estimates(["entity"])["entity"] == lists.table_rows(Entity) == 30
    part = whole.part("entity")
    assert part is not None
    assert part.filled
    assert inventory.database_bytes() > whole.bytes > part.bytes > 0


@needs_cluster
def test_a_worker_that_is_away_is_named(db: None) -> None:
    with connection.cursor() as cursor:
        assert cluster.unresponsive_workers() == []
        # Nobody listens there; what this transaction notes is forgotten with it.
        cursor.execute(
            "update pg_dist_node set nodeport = 1 "
            "where nodeid = (select min(nodeid) from pg_dist_node where shouldhaveshards)"
        )
        (silent,) = cluster.unresponsive_workers()

    assert silent.endswith(":1")


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_commands_that_need_a_single_database_say_what_to_do_instead(
    settings_of: Callable[..., None], command: str
) -> None:
    settings_of({"db.distributed": True})

    with pytest.raises(OperatorError, match=f"`manage.py {command}` works on a single PostgreSQL"):
        call_command(command, "/nowhere")
