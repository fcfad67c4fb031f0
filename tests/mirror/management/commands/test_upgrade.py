"""`manage.py upgrade` and the commands beside it, on a node of their own."""

import signal
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command

from mirror.core.db.schema.backfill import TITLES
from mirror.node.postgres.cluster import DATABASE, ROLE
from tests.node import Node


def put_ahead(node: Node, name: str) -> None:
    """Leave a backfill to be done, as in a database of an older release."""
    with psycopg.connect(host=str(node.server.paths.socket), user=ROLE, dbname=DATABASE) as session:
        session.execute("update backfill set finished = null, newest = 9e18 where name = %s", [name])


def test_web_server_waits_for_old_tables_and_reading_commands_name_their_upgrade(node: Node) -> None:
    assert node.run("migrate", "network", "--verbosity", "0").returncode == 0
    node.begin("serve")
    node.wait_for(lambda: "The web server waits for" in node.said)
    assert "Some tables are missing or old: `manage.py migrate` makes them." in node.said
    assert "Ctrl-C stops" not in node.said

    for command in (("status",), ("replay",), ("verify", str(written(node)))):
        said = node.run(*command)
        assert said.returncode == 1
        assert said.stderr.startswith("The tables are those of an older release"), said.stderr
        assert said.stderr.count("\n") == 1

    assert "Nothing to do: no row of an older release is left" in node.run("upgrade").stdout
    node.wait_for(lambda: "Ctrl-C stops" in node.said)
    assert node.get("/api/v1/blocks")[0] == 200
    assert node.run("status").returncode == 0
    assert node.stop(signal.SIGTERM) == 0


def test_node_upgrades_what_an_older_release_has_left_by_itself(node: Node, tables: None) -> None:
    node.start()
    put_ahead(node, "block_positions")
    assert f"(1 of {len(TITLES)} steps left)" in node.run("status").stdout
    assert f"(1 of {len(TITLES)} steps left)" in node.run("ingest", str(node.folder / "demo-stream")).stdout
    assert node.stop(signal.SIGTERM) == 0

    node.start()

    node.wait_for(lambda: "missing logs of transfers, and positions in blocks, 100 %" in node.said)
    assert "steps left" not in node.run("status").stdout
    assert node.stop(signal.SIGTERM) == 0


@pytest.mark.parametrize("command", ["migrate", "serve"])
def test_tables_of_a_commit_before_the_last_one_are_refused(command: str, node: Node, tables: None) -> None:
    with (
        node.server.in_use(),
        psycopg.connect(host=str(node.server.paths.socket), user=ROLE, dbname=DATABASE) as session,
    ):
        session.execute(
            "insert into django_migrations values (default, 'mirror', '0002_stored_network', now())"
        )

    said = node.run(command)

    assert (said.returncode, said.stdout) == (1, "")
    assert (
        "The tables are those of a commit before 3b6a0b7d: upgrade them by `manage.py upgrade`" in said.stderr
    )


def written(node: Node) -> Path:
    """Return a folder with the stream of a demo network of one block."""
    folder = node.folder / "stream"
    call_command("demo", "--out", str(folder), "--blocks", "1", verbosity=0)
    return folder
