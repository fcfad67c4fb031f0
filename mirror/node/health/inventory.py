"""The inventory of the node: rows, address book, recent deaths, disk, versions; for `manage.py status`.

Rows are PostgreSQL's own estimates: counting them would read every table.
"""

import itertools
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import django
from django.conf import settings

from ledger import errata
from ledger.archive.location import BLOCKS, PERIOD, archive_location, archived_kinds
from ledger.stream import ledger_identity
from ledger.stream.block import block_file
from ledger.stream.ledger_identity import FIRST_LEDGER, LedgerIdentity, named_ledger
from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.db import statements
from mirror.core.db.distribution import cluster
from mirror.core.db.reading.sql import fetch
from mirror.core.processes.exits import Death, recent
from mirror.core.values import entity_id, timestamp
from mirror.core.values.human_readable import byte_size, duration
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.models import LoaderState
from mirror.node.health import checks, replicas
from mirror.node.health.facts import State
from mirror.node.health.loaded_ranges import loaded_text, supply_text
from mirror.node.health.replicas import Replica
from mirror.node.health.status import Status, process_of
from mirror.operations.retention import plan

# With less left than either of these, the disk is about to stop the node.
MIN_FREE_SHARE, MIN_FREE_BYTES = 0.05, 2 * 1024**3
# The latest deaths of the node's processes are listed for so long.
_MAX_DEATHS, _DEATHS_SECONDS = 5, 7 * 86_400
_TINYBARS = 100_000_000

# The activity of a loader, by its last report.
_ACTIVITIES = {
    LoaderState.Activity.STARTING: "starting",
    LoaderState.Activity.LOADING: "loading",
    LoaderState.Activity.WAITING: "waiting for the next file",
    LoaderState.Activity.STUCK: "stuck, and trying again",
    LoaderState.Activity.STOPPED: "ended as it should",
    LoaderState.Activity.FAILED: "ended with an error",
}
_COUNTED = {
    "transaction": "transactions", "crypto_transfer": "hbar transfers", "token_transfer": "token transfers",
    "entity": "entities", "token": "tokens", "nft": "NFTs", "topic_message": "topic messages",
    "contract_result": "contract results", "contract_log": "contract logs",
}  # fmt: skip
# Rows of a partitioned table are those of its months.
_ROWS = """
    select coalesce(p.relname, c.relname), sum(greatest(c.reltuples, s.n_live_tup, 0))::bigint
    from pg_class c
    join pg_stat_user_tables s on s.relid = c.oid
    left join pg_inherits i on i.inhrelid = c.oid
    left join pg_class p on p.oid = i.inhparent
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
        and c.relname !~ '^(auth|django)_'
        and (%(tables)s::text[] is null or coalesce(p.relname, c.relname) = any(%(tables)s::text[]))
    group by 1"""
_BOOK = """
    select b.start_consensus_timestamp, b.node_count, (select max(consensus_timestamp) from node_stake)
    from address_book b where b.file_id = %s order by b.start_consensus_timestamp desc limit 1"""
_DATABASE = "select current_setting('server_version'), pg_database_size(current_database())"
_NODES = """
    select node_id, node_account_id from address_book_entry
    where consensus_timestamp =
        (select max(start_consensus_timestamp) from address_book where file_id = %s)"""

_LEDGER = """
    select l.ledger_id, l.history_proof_verification_key, l.node_contributions, b.index, b.version
    from ledger l
    left join lateral (
        select index, version from record_file where consensus_end >= l.consensus_timestamp
        order by consensus_end limit 1
    ) b on true
    order by l.consensus_timestamp desc limit 1"""


class Entry(NamedTuple):
    """A fact: its heading and text for people, its name and value for programs; one side may be empty."""

    heading: str
    text: str
    name: str = ""
    value: Any = None


@dataclass(frozen=True)
class AddressBook:
    """The latest address book: its time, the number of its nodes, and the time of their stakes, in ns."""

    start: int
    nodes: int
    stakes: int | None

    def text(self, now: int) -> str:
        # The first book of a network has no time.
        age = f"{_age_text(now, self.start)}" if self.start > 1 else "the first one of the network"
        stakes = (
            f"stakes {_age_text(now, self.stakes)}" if self.stakes else "no stakes, so each node counts alike"
        )
        return f"{self.nodes} nodes, {age}; {stakes}"

    @property
    def json(self) -> dict[str, Any]:
        stakes = timestamp.text(self.stakes)
        return {"from": timestamp.text(self.start), "nodes": self.nodes, "stakes_from": stakes}


@dataclass(frozen=True)
class Database:
    """PostgreSQL's release, whether it is the node's own, and the size of the database.

    Of a distributed one also how many workers it has, which of them don't answer, and the size with theirs.
    """

    release: str
    own: bool
    bytes: int
    workers: int = 0
    silent: Sequence[str] = ()

    @property
    def text(self) -> str:
        whose = "the node's own" if self.own else "the one of DATABASE_URL"
        workers = f" with {self.workers} workers" if self.workers else ""
        away = f"; no answer from {', '.join(self.silent)}" if self.silent else ""
        return f"PostgreSQL {self.release}, {whose}{workers}, {byte_size(self.bytes)}{away}"

    @property
    def json(self) -> dict[str, Any]:
        shared = {"workers": self.workers, "silent_workers": list(self.silent)} if self.workers else {}
        return {"release": self.release, "own": self.own, "bytes": self.bytes} | shared


@dataclass(frozen=True)
class Disk:
    """The disk of the data folder; a database of DATABASE_URL may be on another one."""

    free: int
    total: int
    folder: Path

    @property
    def short(self) -> bool:
        return self.free < MIN_FREE_BYTES or self.free < self.total * MIN_FREE_SHARE

    @property
    def text(self) -> str:
        text = f"{byte_size(self.free)} of {byte_size(self.total)} free at {self.folder}"
        return f"{text}; make room: loading stops when it is full" if self.short else text

    @property
    def json(self) -> dict[str, Any]:
        sizes = {"free_bytes": self.free, "total_bytes": self.total}
        return {"folder": str(self.folder), **sizes, "short": self.short}


@dataclass(frozen=True)
class Inventory:
    """What the node holds, and where; `reasons` say why it is not ready.

    `rows` are estimates by table; `accounts` are those of the nodes.
    """

    network: str
    book: AddressBook | None
    rows: Mapping[str, int]
    database: Database
    disk: Disk
    versions: Mapping[str, str]
    reasons: Sequence[str] = ()
    deaths: Sequence[Death] = ()
    accounts: Mapping[int, int] = field(default_factory=dict)
    retention: str = ""
    archive: str = ""
    replicas: Sequence[Replica] = ()
    errata: str = ""
    ledger_id: str = ""

    def lines(self, status: Status) -> Iterator[tuple[str, str]]:
        return ((entry.heading, entry.text) for entry in self._entries(status) if entry.text)

    def json(self, status: Status) -> dict[str, Any]:
        return {entry.name: entry.value for entry in self._entries(status) if entry.name}

    def _entries(self, status: Status) -> Iterator[Entry]:
        yield Entry("Ready", self._ready(status), "ready", not self.reasons)
        yield Entry("", "", "reasons", list(self.reasons))
        yield Entry("Network", self.network, "network", self.network)
        if status.block:
            last = f"{status.block.number} of {status.block.time}, in {status.block.name}"
            yield Entry("Last block", last)
        yield Entry("Loaded", loaded_text(status.loaded))
        yield Entry("Supply", supply_text(status.loaded))
        if status.loader:
            yield from self._loader_entries(status.loader, killed=status.state is State.KILLED)
        for death in self.deaths:
            ago = duration(round(max(status.now / NANOS_PER_SECOND - death.at, 0)))
            yield Entry("Died", f"{ago} ago: {death.process} {death.why}")
        book = self.book.text(status.now) if self.book else "none yet"
        yield Entry("Address book", book, "address_book", self.book and self.book.json)
        yield Entry("Ledger id", self.ledger_id, "ledger_id", self.ledger_id or None)
        yield Entry("Rows", self._rows, "estimated_rows", dict(self.rows))
        yield Entry("Database", self.database.text, "database", self.database.json)
        for replica in self.replicas:
            yield Entry("Replica", replica.text)
        yield Entry("Disk", self.disk.text, "disk", self.disk.json)
        yield Entry("", "", "replicas", [replica.json for replica in self.replicas])
        yield Entry("Errata", self.errata, "errata", self.errata or None)
        yield Entry("Retention", self.retention, "retention", self.retention or None)
        yield Entry("Kept files", self.archive, "kept", self.archive or None)
        yield Entry("", "", "deaths", [asdict(death) for death in self.deaths])
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        yield Entry("Versions", versions, "versions", dict(self.versions))

    def _ready(self, status: Status) -> str:
        """Return whether health checks call the node ready."""
        if not self.reasons:
            return "yes"
        others = " ".join(reason for reason in self.reasons if reason != status.sentence)
        if status.sentence not in self.reasons:
            return f"no: {others}"
        return f"no, as said above. {others}" if others else "no, as said above"

    def _loader_entries(self, loader: Mapping[str, Any], *, killed: bool) -> Iterator[Entry]:
        worked = duration(max(round((loader["reported"] - loader["started"]).total_seconds()), 0))
        does, has = _ACTIVITIES[loader["activity"]], "has"
        if killed:
            # It could not report its end.
            does, has = f"ended without a word while it was {does}", "had"
        yield Entry("Source", loader["source"])
        files = f"{loader['files']:,} files with {loader['transactions']:,} transactions"
        yield Entry("Loader", f"{does}; {process_of(loader)} {has} worked for {worked} and loaded {files}")
        if not (loader["problem"] and (signatures := loader["problem"]["signatures"])):
            return
        # The nodes that signed the file and those that did not, with the stake reached and needed.
        signed = ", ".join(self._node(node) for node in signatures["signed"]) or "no node"
        reached = f"{_hbar(signatures['stake'])} of the {_hbar(signatures['required'])} of stake needed"
        if signatures.get("counted"):
            reached = f"{signatures['stake']:,} of the {signatures['required']:,} nodes needed"
        yield Entry("Signed by", f"{signed}: {reached}")
        for node, reason in signatures["others"].items():
            yield Entry("Not signed by", f"{self._node(int(node))}: {reason}")

    def _node(self, node: int) -> str:
        account = entity_id.text(self.accounts.get(node))
        return f"node {node} ({account})" if account else f"node {node}"

    @property
    def _rows(self) -> str:
        parts = [f"{self.rows[table]:,} {name}" for table, name in _COUNTED.items() if self.rows.get(table)]
        return f"about {', '.join(parts)}" if parts else "none"


def read(status: Status) -> Inventory:
    """Return the inventory of a node with this status. Errors: DatabaseError."""
    book_file = config.own_id(102)
    book, spread, rows = statements.row(_BOOK, [book_file]), cluster.shards(), estimates(list(_COUNTED))
    release, size = statements.row(_DATABASE)
    return Inventory(
        network=config.value("network"),
        book=AddressBook(*book) if book else None,
        rows={table: rows[table] for table in _COUNTED if table in rows},
        database=Database(
            release.split()[0], not config.value("db.url"), size + spread.bytes, spread.workers, spread.silent
        ),
        disk=disk(),
        versions={
            "Ledger Mirror": settings.VERSION,
            "Python": platform.python_version(),
            "Django": django.__version__,
        },
        reasons=checks.reasons(status),
        deaths=list(itertools.islice(recent(_DEATHS_SECONDS), _MAX_DEATHS)),
        accounts=dict(statements.rows(_NODES, [book_file])),
        retention=plan.sentence(),
        archive=archive_sentence(follows_blocks=status.block_source is not None),
        replicas=replicas.read(),
        errata=errata.sentence(),
        ledger_id=ledger_id_sentence(),
    )


def archive_sentence(*, follows_blocks: bool) -> str:
    """Return which stream files are archived where, and for how long; empty if none are.

    A network that changes to blocks has no more files of the kinds that were chosen before.
    """
    kinds, period = archived_kinds(), config.value(PERIOD)
    how_long = f"for {duration(round(period))}" if period else "for ever"
    if not kinds:
        return ""
    misses_blocks = follows_blocks and not config.value(BLOCKS)
    missing = f"; the blocks that are loaded now are not kept, as {BLOCKS} is off" if misses_blocks else ""
    return f"{', '.join(kinds)} in {archive_location()}, {how_long}{missing}"


def counts() -> dict[str, int]:
    """Return PostgreSQL's estimate for each kind of row, by its name; none for empty tables."""
    rows = estimates(list(_COUNTED))
    return {name: rows[table] for table, name in _COUNTED.items() if rows.get(table)}


def estimates(tables: list[str] | None = None) -> dict[str, int]:
    """Return PostgreSQL's estimates of rows by table, of these tables or of all."""
    rows = dict(statements.rows(_ROWS, {"tables": tables}))
    spread = cluster.shards().rows
    return rows | {table: spread[table] for table in spread if tables is None or table in tables}


def database_bytes() -> int:
    """Return the size of the database, with what its workers hold."""
    return int(statements.value("select pg_database_size(current_database())")) + cluster.shards().bytes


def disk() -> Disk:
    folder = settings.DATA_DIR
    usage = shutil.disk_usage(folder if folder.exists() else folder.parent)
    return Disk(usage.free, usage.total, folder)


def ledger_id_sentence() -> str:
    """Return the ledger id by which blocks are verified, and its origin; empty while none is known."""
    rows = fetch(_LEDGER, ())
    try:
        named = named_ledger()
    except OperatorError as error:
        return str(error)
    if rows:
        *columns, block, version = rows[0]
        published = ledger_identity.identity_from_row(*columns)
        return f"{published.ledger_id.hex()}{_confirmation(published, block, version, named)}"
    return f"{named.ledger_id.hex()} by {FIRST_LEDGER}: what is loaded publishes none" if named else ""


def _confirmation(
    published: LedgerIdentity, block: int | None, version: int | None, named: LedgerIdentity | None
) -> str:
    """Return what confirms a published ledger; `block` is the one that published it, if that is loaded."""
    if named is not None:
        if named.ledger_id != published.ledger_id:
            return f", but {FIRST_LEDGER} names {named.ledger_id.hex()}, which is another network"
        if named.contributors != published.contributors:
            return f", but {FIRST_LEDGER} names other nodes or keys of it"
        return f", as {FIRST_LEDGER} says"
    if block == 0 and version == block_file.VERSION:
        return (
            ", by the word of block 0 alone: compare it with what the network says of itself, and name it by "
            f"{FIRST_LEDGER}"
        )
    return "" if block is None else f", published in block {block}"


def _age_text(now: int, at: int) -> str:
    return f"{duration(max(now - at, 0) // NANOS_PER_SECOND)} old"


def _hbar(tinybars: int) -> str:
    return f"{tinybars // _TINYBARS:,} ℏ"
