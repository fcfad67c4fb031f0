"""The setting that names replicas: what it says, and what it leaves to the primary."""

import pytest

from mirror.core.config.database import parse_replicas
from mirror.core.config.setting import InvalidSetting

PRIMARY = {
    "ENGINE": "mirror.core.db.backend",
    "NAME": "mirror_node",
    "USER": "mirror_reader",
    "PASSWORD": "secret",
    "HOST": "db1,db4",
    "PORT": "6000",
    "OPTIONS": {"sslmode": "require", "target_session_attrs": "read-write"},
}


def places(text: str) -> list[tuple[str, str]]:
    return [(each["HOST"], each["PORT"]) for each in parse_replicas(text, "SVC_MIRROR_DB_READ", PRIMARY)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("db2", [("db2", "6000")]),
        ("db2, db3:5433", [("db2", "6000"), ("db3", "5433")]),
        ("10.0.0.2:1,[fd00::7]:2,[fd00::8]", [("10.0.0.2", "1"), ("fd00::7", "2"), ("fd00::8", "6000")]),
        ("/run/postgresql", [("/run/postgresql", "6000")]),
        ("host=db2,db3", [("db2", "6000"), ("db3", "6000")]),
        ("host=db2,db3 port=5433", [("db2", "5433"), ("db3", "5433")]),
        ("host=db2,db3 port=1,2", [("db2", "1"), ("db3", "2")]),
        ("postgresql://db2:1,db3:2/mirror_node", [("db2", "1"), ("db3", "2")]),
    ],
)
def test_hosts_and_ports_may_be_written_in_several_ways(text: str, expected: list[tuple[str, str]]) -> None:
    assert places(text) == expected


def test_what_it_leaves_out_is_that_of_the_primary() -> None:
    (replica,) = parse_replicas("db2", "SVC_MIRROR_DB_READ", PRIMARY)
    assert replica == PRIMARY | {"HOST": "db2", "OPTIONS": {"sslmode": "require"}}


def test_what_it_says_counts() -> None:
    address = "postgresql://dashboards:other@db2:5433/copy?sslmode=disable"
    (replica,) = parse_replicas(address, "SVC_MIRROR_DB_READ", PRIMARY)
    assert replica == {
        "ENGINE": "mirror.core.db.backend",
        "NAME": "copy",
        "USER": "dashboards",
        "PASSWORD": "other",
        "HOST": "db2",
        "PORT": "5433",
        "OPTIONS": {"sslmode": "disable"},
    }


@pytest.mark.parametrize(
    "text", ["db2,", "db2:port", "http://db2", "host=db2 colour=blue", "dbname=x", "host=db2,db3 port=1,2,3"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidSetting, match="SVC_MIRROR_DB_READ is neither a list of hosts"):
        places(text)
