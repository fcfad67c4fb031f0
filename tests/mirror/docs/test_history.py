"""The page about history: each of its steps, with the commands that it shows."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from mirror.core.values.timestamp import iso_text
from mirror.demo.publish.history import History
from mirror.demo.streams.keys import nodes
from tests.node import Done, Node, manage
from tests.partitions import drop_database


@pytest.fixture
def urls(_test_database: None, django_db_blocker: Any) -> Iterator[tuple[str, str]]:
    """Make two empty databases, and yield their URLs."""
    own = connection.settings_dict
    words = {"host": own["HOST"], "port": own["PORT"], "user": own["USER"], "password": own["PASSWORD"]}
    server = " ".join(f"{key}={word}" for key, word in words.items() if word)
    names = [f"test_history_{part}_{os.getpid()}" for part in ("newest", "whole")]
    with django_db_blocker.unblock(), connection._nodb_cursor() as cursor:
        for name in names:
            drop_database(cursor, name)
            cursor.execute(f"create database {name}")
    yield f"{server} dbname={names[0]}", f"{server} dbname={names[1]}"
    with django_db_blocker.unblock(), connection._nodb_cursor() as cursor:
        for name in names:
            drop_database(cursor, name)


def numbers(node: Node) -> list[int]:
    """Return the numbers of the blocks, the newest first."""
    status, body = node.get("/api/v1/blocks?limit=100")
    assert status == 200, body
    return [block["number"] for block in json.loads(body)["blocks"]]


def test_history_is_loaded_into_a_second_database_which_takes_over(
    node: Node, urls: tuple[str, str], tmp_path: Path
) -> None:
    blocks = [block for _, block in History(blocks=12, tps=3, seed=5).play(nodes())]
    streams, accounts = tmp_path / "streams", tmp_path / "accounts.json"
    for block in blocks[:10]:
        block.write(streams)
    node.settings |= {
        "SVC_MIRROR_NETWORK": "simulated",
        "SVC_MIRROR_IMPORTER_DOWNLOADER_CLOUDPROVIDER": "LOCAL",
        "SVC_MIRROR_IMPORTER_DATAPATH": str(tmp_path),
    }
    old = {"DATABASE_URL": urls[0]}
    second = {"DATABASE_URL": urls[1], "SVC_MIRROR_DATA": str(tmp_path / "second")}

    def run(*command: str | Path, **variables: str) -> Done:
        done = manage(*command, **node.environment | variables)
        assert done.returncode == 0, done.stderr
        return done

    # A node that began in the middle.
    begin = iso_text(blocks[6].transactions[0].consensus_timestamp)
    node.start("up", SVC_MIRROR_IMPORTER_STARTDATE=begin, **old)
    node.wait_for(lambda: numbers(node) == [9, 8, 7, 6])
    status, body = node.get("/api/v1/blocks/0")
    assert (status, b"Not loaded: the node has no block before 6 " in body) == (404, True)

    # 1. Load all of it into a second database, while the node answers and loads.
    assert "Loaded 10 files" in run("ingest", streams, **second).stdout
    blocks[10].write(streams)
    node.wait_for(lambda: numbers(node) == [10, 9, 8, 7, 6])

    # 2. Verify.
    assert "Nothing wrong with 10 files" in run("verify", streams, "--to", "9", **second).stdout

    # 3. Copy what is not in the stream.
    tables = ("auth.user", "auth.group", "otp_totp", "web3sim")
    run("dumpdata", *tables, "--natural-foreign", "--natural-primary", "--output", accounts, **old)
    run("loaddata", accounts, **second)

    # 4. Switch.
    assert "Loaded 1 file" in run("ingest", streams, **second).stdout
    assert node.stop(signal.SIGTERM) == 0
    node.start("up", DATABASE_URL=urls[1])
    assert node.get("/api/v1/blocks/0")[0] == 200
    assert numbers(node) == list(range(11))[::-1]
    blocks[11].write(streams)
    node.wait_for(lambda: numbers(node) == list(range(12))[::-1])
    loaded = json.loads(run("status", "--json", DATABASE_URL=urls[1]).stdout)["loaded"]
    assert (loaded["gaps"], loaded["rests_on"]) == (0, "genesis")
    users = [run("dumpdata", "auth.user", DATABASE_URL=url).stdout for url in urls]
    assert users[0] == users[1] != "[]"
    assert node.stop(signal.SIGTERM) == 0
