"""Databases of a cluster from their migrations to their distribution, with rows and without, by commands."""

import os
from collections.abc import Iterator

import psycopg
import pytest
import pytest_django
from django.db import connections
from psycopg.conninfo import conninfo_to_dict

from mirror.core.config.database import parse_url
from mirror.core.db.availability import bounded_query
from mirror.core.db.distribution import BY_ENTITY, BY_HASH, COPIED
from mirror.core.db.distribution.cluster import slow_workers
from tests import cluster
from tests.node import manage
from tests.waiting import PATIENCE_SECONDS

pytestmark = cluster.needs_cluster

# Few shards, as tables of many take long to make.
_SHARDS = {"SVC_MIRROR_DB_SHARDCOUNT": "2", "SVC_MIRROR_DB_HASHSHARDCOUNT": "1"}


@pytest.fixture
def url() -> Iterator[str]:
    """The address of an empty database of the cluster."""
    name = f"test_whole_{os.getpid()}"
    yield cluster.make(name)
    cluster.drop(name)


def run(url: str, *arguments: str, distributed: bool = True) -> str:
    environment = {"DATABASE_URL": url, "SVC_MIRROR_DB_DISTRIBUTED": str(distributed).lower(), **_SHARDS}
    done = manage(*arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def distributed(session: psycopg.Connection) -> set[str]:
    rows = session.execute(
        "select relname from pg_dist_partition join pg_class on oid = logicalrelid "
        "where (partmethod = 'h' or repmodel = 't') and not relispartition"
    )
    return {name for (name,) in rows}


def test_a_database_with_rows_is_distributed_and_keeps_them(url: str) -> None:
    run(url, "migrate", "--verbosity", "0", distributed=False)
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(
            "insert into transaction (consensus_timestamp, payer_account_id, valid_start_ns, type, result) "
            "select n, n % 7, n, 14, 22 from generate_series(1, 500) n"
        )
        session.execute(
            "insert into transaction_hash (consensus_timestamp, hash, payer_account_id) "
            "select n, sha384(n::text::bytea), n % 7 from generate_series(1, 500) n"
        )

    estimate = run(url, "distribute", "--estimate")
    first = run(url, "distribute")
    second = run(url, "distribute")

    assert "tables of " in estimate.splitlines()[-1]
    assert "Distributing transaction." in first
    assert second.endswith("All tables are distributed: nothing to do.\n")
    with psycopg.connect(url, autocommit=True) as session:
        assert distributed(session) == {*BY_ENTITY, *BY_HASH, *COPIED}
        for table in ("transaction", "transaction_hash"):
            assert session.execute(f"select count(*) from {table}").fetchone() == (500,)
            # What the coordinator had is on the workers now.
            sizes = session.execute(
                "select sum(pg_relation_size(oid)) from pg_class where oid = to_regclass(%(table)s) "
                "or oid in (select relid from pg_partition_tree(to_regclass(%(table)s)))",
                {"table": table},
            )
            assert sizes.fetchone() == (0,)
    assert "about 500 transactions" in run(url, "status")


def test_workers_whose_settings_make_slow_plans_are_named(
    url: str, django_db_blocker: pytest_django.DjangoDbBlocker
) -> None:
    suited, *others = cluster.workers()
    for worker in (suited, *others):
        name = conninfo_to_dict(url)["dbname"]
        with psycopg.connect(cluster.url_of(str(name), worker), autocommit=True) as session:
            cost = "1.1" if worker == suited else "4"
            session.execute("set citus.enable_ddl_propagation = off")
            session.execute(f"alter database {name} set random_page_cost = {cost}")
            session.execute(f"alter database {name} set jit = off")

    settings = connections.settings["default"] | parse_url(url, cluster.VARIABLE)
    with django_db_blocker.unblock():
        slow = bounded_query.run_query(slow_workers, PATIENCE_SECONDS, settings)

    assert slow == sorted(f"{worker.host}:{worker.port}" for worker in others)
