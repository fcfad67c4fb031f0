"""The cluster of Citus that MIRROR_CITUS_URL names by its coordinator: databases on all its machines.

With it, all tests run on a distributed database. The role of the address is a superuser on each machine, and
needs no password for the workers.
"""

import os
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg import sql

from mirror.core.config.database import parse_url
from mirror.core.db.distribution import cluster

VARIABLE = "MIRROR_CITUS_URL"
URL = os.environ.get(VARIABLE, "")
#: For tests of what only a distributed database has.
needs_cluster = pytest.mark.skipif(not URL, reason=f"{VARIABLE} names no coordinator of Citus")
#: Few shards are made quickly, and show the same as many.
SETTINGS = {"db.url": URL, "db.distributed": True, "db.shardCount": 4, "db.hashShardCount": 2}


def connection_settings() -> dict[str, Any]:
    """Return Django's settings of a connection to the coordinator."""
    return parse_url(URL, VARIABLE)


def url_of(name: str, worker: cluster.Worker | None = None) -> str:
    """Return the address of a database of that name, on the coordinator or on a worker."""
    place: dict[str, Any] = {"host": worker.host, "port": worker.port} if worker else {}
    return psycopg.conninfo.make_conninfo(URL, dbname=name, **place)


def workers() -> list[cluster.Worker]:
    """Return the workers that the database of the address has."""
    with psycopg.connect(URL, autocommit=True) as session:
        found = session.execute(
            "select nodename, nodeport from pg_dist_node where isactive and shouldhaveshards order by nodeid"
        )
        return [cluster.Worker(*row) for row in found]


def make(name: str) -> str:
    """Make an empty database of that name on all machines, ready for distribution; return its address."""
    drop(name)
    with psycopg.connect(URL, autocommit=True) as session:
        session.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    join(name)
    return url_of(name)


def join(name: str) -> None:
    """Make the workers' part of a database that the coordinator has."""
    machines = workers()
    for worker in machines:
        with psycopg.connect(url_of("postgres", worker), autocommit=True) as session:
            session.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))
            session.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        with psycopg.connect(url_of(name, worker), autocommit=True) as session:
            session.execute("create extension citus")
    coordinator = connection_settings()
    with psycopg.connect(url_of(name), autocommit=True) as session:
        session.execute("create extension citus")
        session.execute(
            "select citus_set_coordinator_host(%s, %s)",
            [coordinator["HOST"] or "localhost", int(coordinator["PORT"] or 5432)],
        )
        for worker in machines:
            session.execute("select citus_add_node(%s, %s)", [worker.host, worker.port])


def drop(name: str) -> None:
    """Remove a database from all machines."""
    for worker in [None, *workers()]:
        with psycopg.connect(url_of("postgres", worker), autocommit=True) as session:
            session.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def distribute_own() -> None:
    """Distribute the test database that Django has made on the coordinator."""
    join(connection.settings_dict["NAME"])
    cluster.distribute_if_configured()


def leave(name: str) -> None:
    """Remove the workers' part of a database."""
    for worker in workers():
        with psycopg.connect(url_of("postgres", worker), autocommit=True) as session:
            session.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))
