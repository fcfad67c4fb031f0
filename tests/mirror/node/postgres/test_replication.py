"""The node's own PostgreSQL as a primary, by setting."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mirror.core.config.setting import InvalidSetting
from mirror.node.postgres import replication
from mirror.node.postgres.cluster import DATABASE
from tests.replicated import Replicated

ADDRESSES = {"db.replicas": ("10.0.0.2", "10.1.0.0/16", "fd00::7")}


def test_nobody_may_follow_it_by_default() -> None:
    assert replication.configuration() == {}
    assert replication.access() == ""


def test_addresses_of_the_setting_may_copy_it_and_nothing_else(settings_of: Callable[..., None]) -> None:
    settings_of(ADDRESSES)
    assert replication.access().splitlines() == [
        "local replication all peer map=node",
        "host replication mirror_replica 10.0.0.2/32 scram-sha-256",
        "host replication mirror_replica 10.1.0.0/16 scram-sha-256",
        "host replication mirror_replica fd00::7/128 scram-sha-256",
    ]


def test_name_is_refused(settings_of: Callable[..., None]) -> None:
    settings_of({"db.replicas": ("db2",)})
    with pytest.raises(InvalidSetting, match="SVC_MIRROR_DB_REPLICAS='db2' is no address"):
        replication.access()


def test_postgres_understands_who_may(replicated: Replicated) -> None:
    rules = "select user_name, address, auth_method from pg_hba_file_rules where database = '{replication}'"
    assert replicated.on(replicated.primary, rules) == [
        (["all"], None, "peer"),
        (["mirror_replica"], "127.0.0.1", "scram-sha-256"),
    ]


def test_role_of_replicas_is_made_once_with_a_password(
    replicated: Replicated, settings_of: Callable[..., None], tmp_path: Path
) -> None:
    settings_of(ADDRESSES)
    replicated.on(replicated.primary, "drop role if exists mirror_replica")
    place = replicated.primary.paths
    replication.make_role(place, DATABASE, tmp_path)
    password = replication.password_file(tmp_path)
    assert password.stat().st_mode & 0o077 == 0
    first = password.read_text()
    assert len(first) > 20
    replication.make_role(place, DATABASE, tmp_path)
    assert password.read_text() == first
    may = "select rolreplication, rolsuper, rolcreaterole from pg_roles where rolname = 'mirror_replica'"
    assert replicated.on(replicated.primary, may) == [(True, False, False)]
    password.unlink()
    replication.make_role(replicated.replica.paths, DATABASE, tmp_path)
    assert not password.exists()
