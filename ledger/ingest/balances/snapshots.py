"""Balance snapshots: the balances of accounts and token relationships, stored for queries about the past.

A snapshot is taken at the end of a record file, in the database transaction that stores the file, once enough
time of the stream has passed since the last one. So snapshots depend on the stream alone. The first of a
month holds everything, later ones the changes since; the treasury is in each. If the stream has not created
the treasury, the end of the file after the first snapshot does, so that the transfers of that file are not in
its balance, as in the original.
"""

import time
from functools import partial

import psycopg
from django.db.backends.utils import CursorWrapper

from ledger.ingest.rows.batch import Batch
from ledger.stream import record_names
from mirror.core import config, logs
from mirror.core.db import statements
from mirror.core.values import entity_id
from mirror.core.values.timestamp import NANOS_PER_DAY, NANOS_PER_SECOND

log = logs.logger(__name__)

TREASURY_NUM = 2

_SETTINGS = "importer.parser.record.historicalBalance."

_PARTITION = """
    select from_timestamp from mirror_node_time_partitions
    where parent = 'account_balance' and from_timestamp <= %s and to_timestamp > %s"""

_TREASURY = """
    insert into entity (id, shard, realm, num, type, balance, created_timestamp, decline_reward, deleted,
        memo, timestamp_range)
    values (%s, %s, %s, %s, 'ACCOUNT', 0, 0, true, false, %s, int8range(0, null))
    on conflict (id) do nothing"""

# The REST API knows by this memo that the stream did not create the treasury.
_TREASURY_MEMO = "Mirror node created synthetic treasury account"

_LAST_OF_TREASURY = """
    select max(consensus_timestamp) from account_balance
    where account_id = %s and consensus_timestamp >= %s and consensus_timestamp < %s"""

# An account deleted since the snapshot before still has to be seen at 0.
_ALL_ACCOUNTS = """
    insert into account_balance (account_id, balance, consensus_timestamp)
    select id, balance, %(at)s from entity
    where balance is not null and (deleted is not true or balance_timestamp > %(since)s)
    union all
    select %(treasury)s, 0, %(at)s where not exists (select from entity where id = %(treasury)s)"""
_ALL_TOKENS = """
    insert into token_balance (account_id, token_id, balance, consensus_timestamp)
    select account_id, token_id, balance, %(at)s from token_account
    where associated is true or balance_timestamp > %(since)s"""

_CHANGED_ACCOUNTS = """
    insert into account_balance (account_id, balance, consensus_timestamp)
    select id, balance, %(at)s from entity
    where id = %(treasury)s or (balance is not null and balance_timestamp > %(since)s)"""
_CHANGED_TOKENS = """
    insert into token_balance (account_id, token_id, balance, consensus_timestamp)
    select account_id, token_id, balance, %(at)s from token_account where balance_timestamp > %(since)s"""

_FILE = """
    insert into account_balance_file
        (consensus_timestamp, count, load_start, load_end, name, synthetic, time_offset)
    values (%(at)s, %(count)s, %(start)s, %(end)s, %(name)s, true, 0)"""


class Snapshots:
    """Decides after every file whether a snapshot is due, and takes it."""

    def __init__(self) -> None:
        self._enabled: bool = config.value(_SETTINGS + "enabled")
        self._delay: int = round(config.value(_SETTINGS + "initialDelay") * NANOS_PER_SECOND)
        self._frequency: int = round(config.value(_SETTINGS + "minFrequency") * NANOS_PER_SECOND)
        self._has_treasury = self._lacks_treasury = False

    def last_stored(self) -> int | None:
        """Return the time of the last snapshot, or in its place the first file's end plus the delay."""
        last, first_file, self._has_treasury = statements.row(
            "select (select max(consensus_timestamp) from account_balance_file), "
            "(select min(consensus_end) from record_file), exists (select from entity where id = %s)",
            [_treasury()],
        )
        self._lacks_treasury = last is not None and not self._has_treasury
        if last is None and first_file is not None:
            return int(first_file) + self._delay
        return None if last is None else int(last)

    def advance(self, batch: Batch, consensus_end: int, last: int | None) -> int:
        """Take a snapshot at the end of a file if it is due; return the time of the last one then."""
        if last is None:
            return consensus_end + self._delay
        if self._enabled and self._lacks_treasury:
            batch.after_file(_add_treasury)
            self._has_treasury, self._lacks_treasury = True, False
        if not self._enabled or consensus_end - last < self._frequency:
            return last
        self._lacks_treasury = not self._has_treasury
        batch.after_file(lambda cursor: take_snapshot(cursor, consensus_end))
        return consensus_end


def take_snapshot(cursor: CursorWrapper, timestamp: int) -> None:
    """Store the balances as they are now, under this time; nothing when its month has no partition."""
    start = time.time_ns()
    # A batch of quiet hours has many snapshots of few balances: planning would take most of their time. Only
    # for the last of the treasury a plan of its own leaves out other months.
    prepared = psycopg.Cursor(cursor.connection)
    execute = partial(prepared.execute, prepare=True)
    treasury = _treasury()
    execute(_PARTITION, [timestamp, timestamp])
    month = prepared.fetchone()
    if month is None:
        log.error(
            "snapshot_not_made",
            consensus_timestamp=timestamp,
            reason="account_balance has no partition for this month",
        )
        return
    since = _last_of_treasury(cursor, treasury, month[0], timestamp)
    accounts, tokens = _CHANGED_ACCOUNTS, _CHANGED_TOKENS
    if since is None:
        accounts, tokens = _ALL_ACCOUNTS, _ALL_TOKENS
        since = _last_of_treasury(cursor, treasury, timestamp - 30 * NANOS_PER_DAY, timestamp) or 0
    values = {"at": timestamp, "since": since, "treasury": treasury}
    execute(accounts, values)
    count = prepared.rowcount
    if config.value(_SETTINGS + "tokenBalances"):
        execute(tokens, values)
    execute(
        _FILE,
        {
            "at": timestamp,
            "count": count,
            "start": start // 1_000_000,
            "end": time.time_ns() // 1_000_000,
            "name": snapshot_name(timestamp),
        },
    )


def _treasury() -> int:
    return config.own_id(TREASURY_NUM)


def _add_treasury(cursor: CursorWrapper) -> None:
    treasury = _treasury()
    cursor.execute(_TREASURY, [treasury, *entity_id.decode(treasury), _TREASURY_MEMO])


def snapshot_name(timestamp: int) -> str:
    return f"{record_names.shortest_time(timestamp)}_Balances.csv"


def _last_of_treasury(cursor: CursorWrapper, treasury: int, since: int, before: int) -> int | None:
    cursor.execute(_LAST_OF_TREASURY, [treasury, since, before])
    (last,) = cursor.fetchone()
    return None if last is None else int(last)
