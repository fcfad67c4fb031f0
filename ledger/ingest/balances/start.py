"""A start in the middle of the stream, with the balances that a balance file of the network states.

The balances are written in the database transaction of the first files that are loaded, and these begin with
the first transaction after them.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.backends.utils import CursorWrapper

from ledger.ingest.rows.persist import Persist
from ledger.stream.balance_file import TOTAL_TINYBARS, BalanceFile
from mirror.core import config, logs
from mirror.core.db.writing.copy import Column, copy_rows
from mirror.core.values.timestamp import NANOS_PER_SECOND

log = logs.logger(__name__)

# For these consensus timestamps (ns) the nodes of mainnet wrote files whose time is 53 ns early.
OFFSET_FIRST, OFFSET_LAST, OFFSET = 1_658_420_100_626_004_000, 1_666_368_000_880_378_770, 53

# A row without a token holds the tinybars of an account.
_TABLE = """
    create temporary table file_balance (account_id bigint, token_id bigint, balance bigint)
    on commit drop"""
_COLUMNS = (
    Column("account_id", "int8", None),
    Column("token_id", "int8", None),
    Column("balance", "int8", None),
)

# A file that holds transactions from both before and after the balances begins at most so long before them.
MAX_FILE = 60 * NANOS_PER_SECOND

_SNAPSHOT = """
    insert into account_balance (account_id, balance, consensus_timestamp)
    select distinct on (account_id) account_id, balance, %(at)s from file_balance where token_id is null"""
_TOKEN_SNAPSHOT = """
    insert into token_balance (account_id, token_id, balance, consensus_timestamp)
    select distinct on (account_id, token_id) account_id, token_id, balance, %(at)s from file_balance
    where token_id is not null"""
_FILE = """
    insert into account_balance_file
        (consensus_timestamp, count, file_hash, load_start, load_end, name, synthetic, time_offset)
    values (%(at)s, %(count)s, %(hash)s, %(start)s, %(end)s, %(name)s, false, %(offset)s)"""

# Of these accounts nothing is known but that they existed, and what they held. They may be contracts: the
# first transaction that shows it corrects the row.
_ACCOUNTS = """
    insert into entity (id, shard, realm, num, type, balance, balance_timestamp, timestamp_range, deleted)
    select account_id, (account_id >> 54) & 1023, (account_id >> 38) & 65535, account_id & 274877906943,
        'ACCOUNT', balance, %(at)s, int8range(%(at)s, null), false
    from account_balance where consensus_timestamp = %(at)s
    on conflict (id) do update set
        balance = excluded.balance, balance_timestamp = excluded.balance_timestamp"""
_RELATIONSHIPS = """
    insert into token_account
        (account_id, token_id, associated, balance, balance_timestamp, timestamp_range)
    select account_id, token_id, true, balance, %(at)s, int8range(%(at)s, null)
    from token_balance where consensus_timestamp = %(at)s
    on conflict (account_id, token_id) do update set
        balance = excluded.balance, balance_timestamp = excluded.balance_timestamp"""


@dataclass(frozen=True)
class Start:
    """The balances that loading begins with. `signed_by` are the nodes that signed their file."""

    file: BalanceFile
    signed_by: tuple[int, ...] = ()

    @property
    def last(self) -> int:
        """The time of the last transaction that the balances include (ns)."""
        return self.file.consensus_timestamp + offset_of(self.file.consensus_timestamp)

    @property
    def sentence(self) -> str:
        signed = f", signed by {len(self.signed_by)} nodes" if self.signed_by else ", not signed"
        return (
            f"Loading begins after {self.file.name}{signed}: accounts and tokens begin with the balances in "
            "it. What else was before is not known."
        )

    def write(self, cursor: CursorWrapper) -> None:
        """Write the balances. Errors: StreamFileError.

        Rows: account_balance, token_balance, account_balance_file; entity and token_account, of unknown
        history: without `created_timestamp`.
        """
        persist, start = Persist(), time.time_ns()
        stage(cursor, self.file)
        values = {"at": self.file.consensus_timestamp}
        cursor.execute(_SNAPSHOT, values)
        count = cursor.rowcount
        if persist.tokens:
            cursor.execute(_TOKEN_SNAPSHOT, values)
        if persist.track_balance:
            cursor.execute(_ACCOUNTS, values)
            if persist.tokens:
                cursor.execute(_RELATIONSHIPS, values)
        cursor.execute("select sum(balance) from file_balance where token_id is null")
        (total,) = cursor.fetchone()
        if total != TOTAL_TINYBARS:
            log.warning("balances_sum", file=self.file.name, tinybars=total, expected=TOTAL_TINYBARS)
        cursor.execute(
            _FILE,
            values
            | {
                "count": count,
                "hash": self.file.file_hash,
                "start": start // 1_000_000,
                "end": time.time_ns() // 1_000_000,
                "name": self.file.name,
                "offset": offset_of(self.file.consensus_timestamp),
            },
        )
        log.info("balances_loaded", file=self.file.name, accounts=count)


def offset_of(consensus_timestamp: int) -> int:
    """Return what to add to the time of a balance file for that of its last transaction (ns)."""
    if config.value("network") == "mainnet" and OFFSET_FIRST <= consensus_timestamp <= OFFSET_LAST:
        return OFFSET
    return 0


def stage(cursor: CursorWrapper, file: BalanceFile) -> None:
    """Copy a file into the temporary table `file_balance` of the transaction. Errors: StreamFileError."""
    cursor.execute(_TABLE)
    copy_rows(cursor, "file_balance", _COLUMNS, _staged_rows(file))
    cursor.execute("analyze file_balance")


def _staged_rows(file: BalanceFile) -> Iterator[tuple[int, int | None, int]]:
    for account, balance, tokens in file.holdings():
        yield account, None, balance
        for token, amount in tokens:
            yield account, token, amount
