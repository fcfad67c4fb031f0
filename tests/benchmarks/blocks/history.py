"""A history as blocks that a network of thirty nodes has signed, and a node of its own to load it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from mirror.core.values.hapi.messages import LedgerIdPublicationTransactionBody
from mirror.demo.streams.block_stream import BlockComposer, NativeBlock
from mirror.demo.streams.record_files import Block
from mirror.demo.streams.threshold_signer import ThresholdSigner
from mirror.node.postgres.cluster import DATABASE, ROLE
from mirror.node.postgres.installation import PORT, server_paths
from mirror.node.postgres.server import in_use
from tests.benchmarks import streams
from tests.composing import Composer
from tests.signing import signing_nodes

ROOT = Path(__file__).resolve().parents[3]
VERSION = (0, 76, 0)
STREAMS = {"transfers": streams.transfers, "mixed": streams.mixed}
NODES = ThresholdSigner(dict.fromkeys(range(30), 10), "benchmark")


def blocks_of(stream: str, count: int, per_block: int, records: Path | None = None) -> list[NativeBlock]:
    """Compose a stream as signed blocks, and as record files in a folder too."""
    composer = BlockComposer(NODES)
    made: list[NativeBlock] = []

    def write(block: Block) -> None:
        made.append(composer.block(block))
        if records:
            block.write(records)

    STREAMS[stream](write, count, per_block, VERSION)
    return made


@dataclass(frozen=True)
class Node:
    """A data folder whose database runs, with all tables."""

    data: Path
    environment: dict[str, str]

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(
            host=str(server_paths(self.data).socket), port=PORT, dbname=DATABASE, user=ROLE, autocommit=True
        )

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, str(ROOT / "manage.py"), *map(str, arguments)]

    def empty(self) -> None:
        """Forget all that was loaded."""
        with self.connect() as connection:
            tables = connection.execute(
                "select string_agg(quote_ident(c.relname), ', ') from pg_class c "
                "join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' "
                "and c.relkind in ('r', 'p') and not c.relispartition and c.relname !~ '^(auth|django)_'"
            ).fetchone()
            assert tables
            connection.execute(f"truncate {tables[0]}".encode())
            connection.execute("vacuum analyze")


@contextmanager
def node(folder: Path, **settings: str) -> Iterator[Node]:
    """Run the database of a new node that knows the ledger of the blocks."""
    data = folder / "data"
    data.mkdir(mode=0o755)
    book, ledger = folder / "book", folder / "ledger"
    book.write_bytes(Composer(nodes=signing_nodes(1)).address_book())
    ledger.write_bytes(_publication())
    environment = os.environ | {
        "SVC_MIRROR_DATA": str(data),
        "SVC_MIRROR_NETWORK": "benchmark",
        "SVC_MIRROR_IMPORTER_INITIALADDRESSBOOK": str(book),
        "SVC_MIRROR_IMPORTER_BLOCK_INITIALLEDGERIDPUBLICATION": str(ledger),
        **settings,
    }
    made = Node(data, environment)
    with in_use(data):
        subprocess.run(made.command("migrate", "--verbosity", 0), check=True, env=environment)
        yield made


def _publication() -> bytes:
    identity = NODES.identity
    body = LedgerIdPublicationTransactionBody(
        ledger_id=identity.ledger_id, history_proof_verification_key=identity.proof_key
    )
    for each in identity.contributors:
        body.node_contributions.add(node_id=each.node_id, weight=each.weight, history_proof_key=each.key)
    serialized: bytes = body.SerializeToString()
    return serialized
