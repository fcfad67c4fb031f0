"""A node with replicas, real ones: its health, its inventory, and the refusal to load into a replica."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import pytest_django
from django.core.management import get_commands
from django.db import connections
from psycopg import sql

from manage import WRITING, writes
from mirror.core.config.errors import OperatorError
from mirror.core.db.replicas import block_requirement
from mirror.core.db.replicas.reading import Reader
from mirror.core.db.replicas.shared_state import State
from mirror.node.health import checks, replicas
from mirror.node.health.replicas import Replica
from mirror.node.start import database
from tests.node import manage
from tests.replicated import PRIMARY, REPLICA, Replicated
from tests.waiting import wait_until


@pytest.fixture
def reader(replicated: Replicated, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[Reader]:
    """Read from the replica, which has all blocks."""
    replicated.catch_up()
    with django_db_blocker.unblock(), replicated.reading() as reader:
        yield reader
    replicated.catch_up()


@pytest.fixture
def of_replica(replicated: Replicated, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """Let the replica be the database of this process."""
    before = connections["default"]
    with django_db_blocker.unblock():
        wrapper = connections.create_connection("default")
        wrapper.settings_dict = dict(replicated.places()[REPLICA].settings)
        connections["default"] = wrapper
        try:
            yield
        finally:
            wrapper.close()
            connections["default"] = before


def test_command_that_writes_refuses_a_replica(of_replica: None) -> None:
    with pytest.raises(OperatorError, match=r"This database is a replica.*Load into its primary"):
        database.check_writable()


def test_loading_into_a_replica_is_refused_in_words(replicated: Replicated, tmp_path: Path) -> None:
    address = f"host={replicated.replica.paths.socket} user=mirror_node dbname=mirror_node"
    done = manage("ingest", tmp_path, DATABASE_URL=address, SVC_MIRROR_DATA=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("This database is a replica, ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["ingest", "stream"], True),
        (["ingest", "stream", "--estimate"], False),
        (["snapshot", "load", "folder"], True),
        (["snapshot", "--jobs", "2", "load", "folder"], True),
        (["snapshot", "save", "folder"], False),
        (["reconcile", "folder"], True),
        (["verify"], False),
    ],
)
def test_replica_refuses_commands_that_write(arguments: list[str], expected: bool) -> None:
    assert writes(arguments) == expected


def test_commands_that_write_exist() -> None:
    assert set(get_commands()) >= WRITING


def test_database_with_old_unreplayed_changes_is_not_ready(
    of_replica: None, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    settings_of({"db.readMaxLag": 0.0})
    # The primary writes now and then by itself.
    wait_until(lambda: replicas.reason() is None)
    replicated.hold()
    replicated.add_block(replicated.last_block(replicated.primary) + 1)
    received = "select pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()"
    replicated.wait_for(replicated.replica, received)
    said = replicas.reason()
    replicated.catch_up()
    assert said is not None
    assert said.startswith("The database is a replica, which is ")
    assert said.endswith(" behind: db.readMaxLag allows 0 seconds.")


def test_cut_off_replica_is_as_old_as_its_last_replay(
    of_replica: None, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    settings_of({"db.readMaxLag": 0.0})
    ((source,),) = replicated.on(replicated.replica, "select current_setting('primary_conninfo')")

    def follow(source: str) -> None:
        text = sql.quote(source)
        replicated.on(replicated.replica, f"alter system set primary_conninfo = {text}")
        replicated.on(replicated.replica, "select pg_reload_conf()")

    follow("")
    try:
        replicated.wait_for(replicated.replica, "select not exists (select from pg_stat_wal_receiver)")
        said = replicas.reason()
    finally:
        follow(source)
        replicated.wait_for(replicated.replica, "select exists (select from pg_stat_wal_receiver)")
    assert said is not None
    assert said.startswith("The database is a replica, which is ")


def test_node_without_its_primary_is_as_well_as_its_replica(
    reader: Reader, settings_of: Callable[..., None]
) -> None:
    settings_of({"db.readMaxLag": 86400.0})
    reader.scoreboard.set_state(PRIMARY, State.AWAY)
    judged = checks.check_health(60.0)
    assert judged.reasons == ("The network's address book is not loaded yet.",)
    assert judged.status is not None
    assert judged.status.standby
    assert not judged.database


def test_node_with_only_a_late_replica_is_not_ready(reader: Reader) -> None:
    reader.scoreboard.set_state(PRIMARY, State.AWAY)
    reader.scoreboard.set_state(REPLICA, State.BEHIND, 90.0)
    assert checks.check_health(60.0).reasons[-1] == (
        "The primary of the database does not answer, and the replica replica is 1 minute behind: "
        "db.readMaxLag allows 30 seconds."
    )


def test_web_server_shows_what_its_watcher_knows(reader: Reader, settings_of: Callable[..., None]) -> None:
    settings_of({"db.read": "replica"})
    reader.scoreboard.set_block(PRIMARY, 12)
    reader.scoreboard.set_block(REPLICA, 10)
    reader.scoreboard.set_state(REPLICA, State.BEHIND, 65.0)
    (replica,) = replicas.read()
    assert replica.text == "replica is 1 minute and 2 blocks behind, and spared for that"
    assert replica.json == {
        "name": "replica",
        "state": "behind",
        "block": 10,
        "seconds_behind": 65.0,
        "blocks_behind": 2,
        "reason": None,
    }


def test_command_asks_the_replicas_itself(
    replicated: Replicated, settings_of: Callable[..., None], django_db_blocker: pytest_django.DjangoDbBlocker
) -> None:
    assert block_requirement.reader is None
    replicated.catch_up()
    socket = replicated.replica.paths.socket
    settings_of({"db.read": f"host={socket},/nowhere dbname=mirror_node user=mirror_node"})
    with django_db_blocker.unblock():
        there, away = replicas.read()
    assert (there.name, there.state) == (str(socket), State.WELL)
    assert away.text.startswith("/nowhere does not answer: ")


@pytest.mark.parametrize(
    ("replica", "text"),
    [
        (Replica("db2", State.WELL), "db2 has everything"),
        (Replica("db2", State.WELL, 7, 1.2, 1), "db2 is 1 second and 1 block behind"),
        (Replica("db2", State.WELL, 7, 0.0, 12_345), "db2 is 12,345 blocks behind"),
        (Replica("db2", State.UNKNOWN), "db2 has not been asked yet"),
        (Replica("db2", State.AWAY), "db2 does not answer"),
    ],
)
def test_replica_is_described(replica: Replica, text: str) -> None:
    assert replica.text == text
