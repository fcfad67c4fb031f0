"""The inventory of the node: rows, address book, recent deaths, disk, versions; for `manage.py status`.

Rows are PostgreSQL's own estimates: counting them would read every table.
"""

import itertools
import platform
import shutil
import time
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import django
from django.conf import settings
from django.db import connection

from mirror import config
from mirror.node import health
from mirror.node.status import Status
from mirror.processes import deaths
from mirror.values import entity_id
from mirror.values.readable import byte_size, duration
from mirror.values.timestamp import NANOS_PER_SECOND

# With less left than either of these, the disk is about to stop the node.
LEAST_FREE_SHARE, LEAST_FREE_BYTES = 0.05, 2 * 1024**3
# The latest deaths of the node's processes are listed, for so long.
_MOST_DEATHS, _DEATHS_SECONDS = 5, 7 * 86_400

_COUNTED = {
    "transaction": "transactions",
    "crypto_transfer": "hbar transfers",
    "token_transfer": "token transfers",
    "entity": "entities",
    "token": "tokens",
    "nft": "NFTs",
    "topic_message": "topic messages",
    "contract_result": "contract results",
    "contract_log": "contract logs",
}
_ROWS = """
    select coalesce(p.relname, c.relname), sum(greatest(c.reltuples, s.n_live_tup, 0))::bigint
    from pg_class c
    join pg_stat_user_tables s on s.relid = c.oid
    left join pg_inherits i on i.inhrelid = c.oid
    left join pg_class p on p.oid = i.inhparent
    where coalesce(p.relname, c.relname) = any(%s)
    group by 1"""
_BOOK = """
    select b.start_consensus_timestamp, b.node_count, (select max(consensus_timestamp) from node_stake)
    from address_book b where b.file_id = %s order by b.start_consensus_timestamp desc limit 1"""
_NODES = """
    select node_id, node_account_id from address_book_entry
    where consensus_timestamp =
        (select max(start_consensus_timestamp) from address_book where file_id = %s)"""


def lines(status: Status) -> Iterator[tuple[str, str]]:
    """Yield pairs of a heading and its text."""
    yield "Ready", _ready(status)
    yield "Network", config.value("network")
    if status.block:
        yield "Last block", f"{status.block.number:,} of {status.block.time}, in {status.block.name}"
    if status.loader:
        yield from _of_loader(status, status.loader)
    for death in itertools.islice(deaths.recent(_DEATHS_SECONDS), _MOST_DEATHS):
        yield (
            "Died",
            f"{duration(round(max(time.time() - death.at, 0)))} ago: {death.process} {death.why}",
        )
    yield "Address book", _address_book(status.now)
    yield "Rows", _rows()
    yield "Database", _database()
    yield "Disk", disk()
    yield (
        "Versions",
        f"Ledger Mirror {version()}, Python {platform.python_version()}, Django {django.__version__}",
    )


def _ready(status: Status) -> str:
    """Return whether health checks call the node ready."""
    if not (reasons := health.reasons(status)):
        return "yes"
    others = [reason for reason in reasons if reason != status.sentence]
    return f"no: {' '.join(others)}" if others else "no, as said above"


def _of_loader(status: Status, loader: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    began = status.now // NANOS_PER_SECOND - round(loader["started"].timestamp())
    yield "Source", loader["source"]
    yield (
        "Loader",
        f"{loader['activity']}; process {loader['process']} on {loader['host']}, begun "
        f"{duration(max(began, 0))} ago: {loader['files']:,} files, {loader['transactions']:,} transactions",
    )
    problem = loader["problem"]
    if problem:
        yield "Problem", f"{problem['file']} {problem['position']}".strip() or "not of one file"
        yield "Cause", problem["cause"]
        if problem["cure"]:
            yield "What to do", problem["cure"]
        if problem["signatures"]:
            yield from _signatures(problem["signatures"])


def _signatures(signatures: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the nodes that signed the file and those that did not, with the stake reached and needed."""
    accounts = _accounts()
    signed = ", ".join(_node(node, accounts) for node in signatures["signed"]) or "no node"
    unit = "nodes" if signatures.get("counted") else "stake"
    yield "Signed by", f"{signed}: {signatures['stake']:,} of the {signatures['required']:,} {unit} needed"
    for node, reason in signatures["others"].items():
        yield "Not signed by", f"{_node(int(node), accounts)}: {reason}"


def _node(node: int, accounts: Mapping[int, int]) -> str:
    account = entity_id.text(accounts.get(node))
    return f"node {node} ({account})" if account else f"node {node}"


def _accounts() -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(_NODES, [_book_file()])
        return dict(cursor.fetchall())


def _address_book(now: int) -> str:
    with connection.cursor() as cursor:
        cursor.execute(_BOOK, [_book_file()])
        row = cursor.fetchone()
    if row is None:
        return "none yet"
    start, nodes, staked = row
    # The first book of a network has no time.
    text = f"{nodes} nodes, " + (f"{_ago(now, start)}" if start > 1 else "the first one of the network")
    return (
        f"{text}; stakes {_ago(now, staked)}" if staked else f"{text}; no stakes, so each node counts alike"
    )


def _ago(now: int, at: int) -> str:
    return f"{duration(max(now - at, 0) // NANOS_PER_SECOND)} old"


def counts() -> dict[str, int]:
    """Return PostgreSQL's estimate for each kind of row, by its name; none for empty tables."""
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [list(_COUNTED)])
        rows = dict(cursor.fetchall())
    return {name: rows[table] for table, name in _COUNTED.items() if rows.get(table)}


def _rows() -> str:
    parts = [f"{count:,} {name}" for name, count in counts().items()]
    return f"about {', '.join(parts)}" if parts else "none"


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("select current_setting('server_version'), pg_database_size(current_database())")
        release, size = cursor.fetchone()
    whose = "the one of DATABASE_URL" if config.value("db.url") else "the node's own"
    return f"PostgreSQL {release.split()[0]}, {whose}, {byte_size(size)}"


def disk() -> str:
    """Return the free space of the data folder's disk; a database of DATABASE_URL may be on another one."""
    usage = shutil.disk_usage(settings.DATA_DIR if settings.DATA_DIR.exists() else settings.DATA_DIR.parent)
    text = f"{byte_size(usage.free)} of {byte_size(usage.total)} free at {settings.DATA_DIR}"
    short = usage.free < LEAST_FREE_BYTES or usage.free < usage.total * LEAST_FREE_SHARE
    return f"{text} - make room: loading stops when it is full" if short else text


def version() -> str:
    """Return the version of this program. Source: pyproject.toml."""
    with (settings.BASE_DIR / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def _book_file() -> int:
    return entity_id.encode(config.value("common.shard"), config.value("common.realm"), 102)
