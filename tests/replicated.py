"""A primary and a replica of it, both the node's own PostgreSQL: made as the guide to replicas says."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections

from mirror.core import config
from mirror.core.db.availability import outage, unresponsive
from mirror.core.db.reading import pools
from mirror.core.db.replicas import ReplicaReader
from mirror.core.db.replicas import Server as Place
from mirror.node.postgres import cluster
from mirror.node.postgres.cluster import DATABASE, ROLE
from mirror.node.postgres.installation import server_paths
from mirror.node.postgres.server import Server
from tests.waiting import wait_until

# Tests reach both by their sockets, as their port may be taken, and wait until what they wrote has come over.
_CONFIGURATION = {"listen_addresses": "''", "synchronous_commit": "on"}
_ADDRESSES = {"db.replicas": ("127.0.0.1/32",)}

# A block that is the last one of the database.
_BLOCK = """
    insert into record_file (index, consensus_start, consensus_end, name, hash, prev_hash, file_hash, count,
        load_start, load_end, digest_algorithm, version)
    values (%(number)s, %(number)s, %(number)s, %(number)s::text || '.rcd', '', '', '', 0, 0, 0, 0, 6)"""


class Replicated:
    """The data folders of both; `configuration` is that of their servers, for tests."""

    def __init__(self, primary: Path, replica: Path, configuration: Mapping[str, str]) -> None:
        self._configuration = {**configuration, **_CONFIGURATION}
        self.primary_folder, self.replica_folder = primary, replica
        self.primary, self.replica = (
            Server(server_paths(folder), configuration=self._configuration) for folder in (primary, replica)
        )

    def started(self) -> "Replicated":
        restore = config.overridden(_ADDRESSES)
        try:
            self._start(self.primary)
            self._copy()
            self._start(self.replica)
        finally:
            restore.close()
        return self

    def can_copy(self) -> bool:
        """Return whether there is the program that makes a replica."""
        return (cluster.binaries(self.primary.paths) / "pg_basebackup").exists()

    def restart(self) -> None:
        """Start the replica again."""
        restore = config.overridden(_ADDRESSES)
        try:
            self._start(self.replica)
        finally:
            restore.close()

    def stop(self) -> None:
        for server in (self.replica, self.primary):
            with suppress(Exception):
                server.stop()

    def _start(self, server: Server) -> None:
        cluster.make_home(server.paths)
        server.restart()

    def _copy(self) -> None:
        """Copy the primary by PostgreSQL's own program, as an operator does."""
        ours = self.replica.paths
        cluster.make_home(ours)
        ours.account.make_folder(ours.data)
        command = [
            cluster.binaries(ours) / "pg_basebackup",
            "-h",
            self.primary.paths.socket,
            "-U",
            "postgres",
        ]
        command += ["-D", ours.data, "-R", "-c", "fast"]
        options = ours.account.process_options
        done = subprocess.run(
            list(map(str, command)), env=cluster.ENVIRONMENT, cwd="/", capture_output=True, **options
        )
        assert done.returncode == 0, done.stderr

    # STATEMENTS

    def on(self, server: Server, statement: str, values: Any = ()) -> list[Any]:
        """Run a statement as the superuser."""
        address = f"host={server.paths.socket} user=postgres dbname={DATABASE}"
        with psycopg.connect(address, autocommit=True) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def add_block(self, number: int) -> None:
        self.on(self.primary, _BLOCK, {"number": number})

    def last_block(self, server: Server) -> int:
        return int(self.on(server, "select coalesce(max(index), -1) from record_file")[0][0])

    def catch_up(self) -> None:
        """Let the replica follow, and wait until it has all that the primary has."""
        self.on(self.replica, "select pg_wal_replay_resume()")
        ((end,),) = self.on(self.primary, "select pg_current_wal_lsn()::text")
        self.wait_for(self.replica, "select pg_last_wal_replay_lsn() >= %s::pg_lsn", (end,))

    def hold(self) -> None:
        """Let the replica replay nothing more."""
        self.on(self.replica, "select pg_wal_replay_pause()")
        self.wait_for(self.replica, "select pg_get_wal_replay_pause_state() = 'paused'")

    def lag_behind(self) -> None:
        """Let the replica have a block that it does not replay."""
        self.hold()
        self.add_block(self.last_block(self.primary) + 1)
        self.wait_for(self.replica, "select pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()")

    def wait_for(self, server: Server, statement: str, values: Any = ()) -> None:
        """Wait until a statement says yes."""
        wait_until(lambda: self.on(server, statement, values) == [(True,)])

    # READING

    def servers(self) -> list[Place]:
        """Return the servers as a reader has them: the replica, and the primary."""
        default = connections.settings[DEFAULT_DB_ALIAS]
        return [
            Place(name, {**default, "HOST": str(server.paths.socket), "NAME": DATABASE, "USER": ROLE})
            for name, server in (("replica", self.replica), ("primary", self.primary))
        ]

    @contextmanager
    def reading(self, *more: Place) -> Iterator[ReplicaReader]:
        """Have this process read from the replica, and from `more`, in the block."""
        replica, primary = self.servers()
        connections.close_all()
        own: Any = connections[DEFAULT_DB_ALIAS]
        before, own.settings_dict = own.settings_dict, {**own.settings_dict, **primary.settings}
        # Whether the database is back is found out at the primary.
        default = connections.settings[DEFAULT_DB_ALIAS]
        others = dict(default)
        default |= primary.settings
        reader = ReplicaReader([*more, replica, primary], 2, 1)
        pools.use(reader)
        unresponsive.watch()
        try:
            yield reader
        finally:
            pools.use(None)
            reader.close()
            default |= others
            outage.silent.clear()
            own.close()
            own.settings_dict = before

    @staticmethod
    def move_primary(reader: ReplicaReader, host: str) -> None:
        """Have a reader connect to its primary at another address."""
        for pool in (reader.primary._quick, reader.primary._slow):
            pool.kwargs = {**pool.kwargs, "host": host}  # type: ignore[dict-item]
            pool.timeout = 0.5
            pool.drain()
