"""A history as blocks and record files, and nodes that load it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from mirror.demo.publish.history import BlockWriter, History
from mirror.demo.streams.keys import nodes
from mirror.demo.streams.threshold_signer import ThresholdSigner
from mirror.node.postgres import server as embedded
from mirror.node.postgres.installation import server_paths
from tests.composing import Composer
from tests.node import ROOT

_BLOCKS = "blocks"
OTHERS = ThresholdSigner({0: 10}, "another network")
PATIENCE_SECONDS = 900
_LOOK_SECONDS = 0.05
_TABLES = """
    select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and not relispartition and relname !~ '^(auth|django|axes)_' and relname <> all(%s)
    order by relname"""
# These tell about the node and not about the ledger.
_OF_THE_NODE = ["backfill", "loader_state", "node_minute", "stored_network"]
# When something was loaded, and what a block is called as a file and as a part of a stream.
_NOT_COMPARED = {"record_file": ["load_start", "load_end", "name", "size"]}


@dataclass(frozen=True)
class Network:
    """Record files up to the first of the blocks, by number; all of them are in a folder, too."""

    folder: Path
    blocks: dict[int, bytes]

    @property
    def streams(self) -> Path:
        return self.folder / "streams"

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a node that follows the network."""
        return {
            "SVC_MIRROR_IMPORTER_INITIALADDRESSBOOK": str(self.folder / "book"),
            "SVC_MIRROR_IMPORTER_BLOCK_ENABLED": "true",
            "SVC_MIRROR_IMPORTER_BLOCK_SOURCETYPE": "BLOCK_NODE",
            "SVC_MIRROR_IMPORTER_BLOCK_AUTODISCOVERYENABLED": "false",
            "SVC_MIRROR_IMPORTER_BLOCK_FREQUENCY": "20ms",
            "SVC_MIRROR_IMPORTER_DOWNLOADER_CLOUDPROVIDER": "LOCAL",
            "SVC_MIRROR_IMPORTER_DATAPATH": str(self.folder),
        }


def composed(folder: Path, blocks: int, tps: float, seed: int, *, first_block: int = 0) -> Network:
    """Write a history, from `first_block` on as blocks."""
    network = Network(folder, {})
    network.streams.mkdir(parents=True)
    (folder / "book").write_bytes(Composer(nodes=nodes()).address_book())
    writer = BlockWriter(network.streams, _BLOCKS, blocks_from=first_block)
    for _, block in History(blocks, tps, seed, blocks_from=first_block).play(nodes()):
        if native := writer.write(block):
            network.blocks[native.number] = native.content
    return network


def load(data: Path, network: Network) -> dict[str, str]:
    """Load the files of a network into a new node, in order; return what its tables have."""
    data.mkdir(mode=0o755)
    for folder in (network.streams / "recordstreams", network.streams / _BLOCKS):
        if folder.exists():
            subprocess.run(
                arguments("ingest", folder),
                cwd=ROOT,
                env=environment(data, **network.variables),
                check=True,
                stdout=subprocess.DEVNULL,
            )
    return digests(data)


class Follower:
    """`manage.py ingest --follow` with a data folder of its own."""

    def __init__(self, data: Path, **variables: str) -> None:
        data.mkdir(mode=0o755, exist_ok=True)
        self._data, self._variables = data, variables
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self._data / "output").open("ab") as output:
            self._process = subprocess.Popen(
                arguments("ingest", "--follow"),
                cwd=ROOT,
                env=environment(self._data, **self._variables),
                stdout=output,
                stderr=output,
            )

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def kill(self) -> None:
        assert self._process
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(PATIENCE_SECONDS)

    def wait_for(self, number: int) -> None:
        """Wait until a block is loaded."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.last() < number:
            assert self._process and self._process.poll() is None, (self._data / "output").read_text()[-2000:]
            assert time.monotonic() < deadline, (self._data / "output").read_text()[-2000:]
            time.sleep(_LOOK_SECONDS)

    def last(self) -> int:
        """Return the number of the last block that is loaded, -1 if there is none or it is unknown."""
        with suppress(psycopg.Error), _session(self._data) as session:
            row = session.execute("select coalesce(max(index), -1) from record_file").fetchone()
            return int(row[0]) if row else -1
        return -1


@contextmanager
def _session(data: Path) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(
        dbname="mirror_node", user="mirror_node", host=str(server_paths(data).socket), connect_timeout=5
    ) as session:
        yield session


def arguments(*command: str | Path) -> list[str]:
    return [sys.executable, "manage.py", *map(str, command)]


def environment(data: Path, **variables: str) -> dict[str, str]:
    others = {name: text for name, text in os.environ.items() if name != "DATABASE_URL"}
    return others | {"SVC_MIRROR_DATA": str(data), "SVC_MIRROR_NETWORK": "simulated"} | variables


def digests(data: Path) -> dict[str, str]:
    """Return the number of rows of each table, and a sum over their contents."""
    found = {}
    with embedded.in_use(data, lambda sentence: None), _session(data) as session:
        for (table,) in session.execute(_TABLES, [_OF_THE_NODE]).fetchall():
            row = session.execute(
                f"select count(*), sum(hashtextextended((to_jsonb(t) - %s::text[])::text, 0)::numeric) "
                f'from "{table}" t',
                [_NOT_COMPARED.get(table, [])],
            ).fetchone()
            found[table] = json.dumps(row, default=str)
    return found


def compare(expected: dict[str, str], found: dict[str, str]) -> bool:
    """Print how many tables are equal, and which ones are not; return whether all are."""
    different = [table for table in expected if expected[table] != found.get(table)]
    rows = sum(json.loads(each)[0] for each in expected.values())
    print(f"{len(expected) - len(different)} of {len(expected)} tables are equal, {rows:,} rows", flush=True)
    for table in different:
        print(f"  {table}: {expected[table]} loaded plainly, {found.get(table)} followed")
    return not different
