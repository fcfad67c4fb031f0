"""A node with replicas, real ones: its health, its inventory, and the refusal to load into a replica."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import pytest_django
from django.db import connections
from psycopg import sql

from mirror.core.config.setting import OperatorError
from mirror.node.health import checks, replicas
from mirror.node.health.replicas import Replica
from mirror.upgrade import tables
from tests.node import manage
from tests.replicated import Replicated
from tests.waiting import wait_until


@pytest.fixture
def of_replica(replicated: Replicated, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """Let the replica be the database of this process."""
    before = connections["default"]
    with django_db_blocker.unblock():
        wrapper = connections.create_connection("default")
        wrapper.settings_dict = dict(replicated.servers()[0].settings)
        connections["default"] = wrapper
        try:
            yield
        finally:
            wrapper.close()
            connections["default"] = before


def test_command_that_writes_refuses_a_replica(of_replica: None) -> None:
    with pytest.raises(OperatorError, match=r"This database is a replica.*Load into its primary"):
        tables.check_writable()


def test_loading_into_a_replica_is_refused_in_words(replicated: Replicated, tmp_path: Path) -> None:
    address = f"host={replicated.replica.paths.socket} user=mirror_node dbname=mirror_node"
    (tmp_path / "2024-06-01T00_00_00.000000000Z.rcd").touch()
    done = manage("ingest", tmp_path, DATABASE_URL=address, SVC_MIRROR_DATA=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("This database is a replica, ")


def test_database_with_old_unreplayed_changes_is_not_ready(
    of_replica: None, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    settings_of({"db.readMaxLag": 0.0})
    # The primary writes now and then by itself.
    wait_until(lambda: replicas.reason() is None)
    replicated.lag_behind()
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


@pytest.fixture
def settings_name_the_replica(
    replicated: Replicated,
    settings_of: Callable[..., None],
    django_db_blocker: pytest_django.DjangoDbBlocker,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[None]:
    """Let the settings name the primary, its replica, and one that is away."""
    replicated.catch_up()
    replica, primary = replicated.servers()
    monkeypatch.setitem(connections.settings, "default", primary.settings)
    settings_of({"db.read": f"{replica.settings['HOST']},/nowhere"})
    before = connections["default"]
    connections["default"] = connections.create_connection("default")
    with django_db_blocker.unblock():
        yield
    connections["default"].close()
    connections["default"] = before
    replicated.catch_up()


def test_node_without_its_primary_is_as_well_as_its_replica(
    settings_name_the_replica: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = checks.check_health(60.0)
    assert judged.database
    monkeypatch.setitem(connections.settings["default"], "HOST", "/nonexistent")
    without_primary = checks.check_health(60.0)
    assert without_primary.reasons == judged.reasons == ("The network's address book is not loaded yet.",)
    assert without_primary.status is not None
    assert without_primary.status.standby
    assert not without_primary.database


def test_node_with_only_a_late_replica_is_not_ready(
    settings_name_the_replica: None,
    replicated: Replicated,
    settings_of: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings_of({"db.readMaxLag": 0.0})
    replicated.lag_behind()
    monkeypatch.setitem(connections.settings["default"], "HOST", "/nonexistent")
    assert checks.check_health(60.0).reasons[-1].startswith("The database is a replica, which is ")


def test_replicas_show_how_far_they_are_behind(
    settings_name_the_replica: None, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    there, away = replicas.read()
    assert there.text == f"{replicated.replica.paths.socket} has everything"
    assert away.text.startswith("/nowhere does not answer: ")
    last = replicated.last_block(replicated.replica)
    settings_of({"db.readMaxLag": 0.0})
    replicated.lag_behind()
    late, _ = replicas.read()
    assert late.lag_seconds > 0
    assert late.json == {
        "name": str(replicated.replica.paths.socket),
        "state": "behind",
        "block": last,
        "seconds_behind": round(late.lag_seconds, 3),
        "blocks_behind": 1,
        "reason": None,
    }


@pytest.mark.parametrize(
    ("replica", "text"),
    [
        (Replica("db2"), "db2 has everything"),
        (Replica("db2", 7, 1.2, 1), "db2 is 1 second and 1 block behind"),
        (Replica("db2", 7, 0.0, 12_345), "db2 is 12,345 blocks behind"),
        (Replica("db2", 7, 65.0, 2), "db2 is 1 minute and 2 blocks behind, and left out for that"),
        (Replica("db2", reason="refused"), "db2 does not answer: refused"),
    ],
)
def test_replica_is_described(replica: Replica, text: str) -> None:
    assert replica.text == text
