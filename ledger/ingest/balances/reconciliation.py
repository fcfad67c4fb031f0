"""Comparing this node with the balance files of the network.

What this node says of the time of a file is its last snapshot before that time, and the transfers from there
on. So it does not matter what has been loaded since. Rows: balance_difference; reconciliation_job, one for
each file.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from ledger import loaded_ranges
from ledger.ingest.balances.snapshots import TREASURY_NUM
from ledger.ingest.balances.start import offset_of, stage
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.balance_file import TOTAL_TINYBARS, BalanceFile
from ledger.stream.source.balance_files import BalanceDownload, PublishedBalances
from mirror.core import config
from mirror.core.db import statements
from mirror.core.values.hapi.transaction_types import NUMBERS
from mirror.core.values.timestamp import NANOS_PER_DAY, month_start
from mirror.models import LoadedRange

_SNAPSHOTS = "importer.parser.record.historicalBalance.enabled"
_BASES = (LoadedRange.RestsOn.GENESIS, LoadedRange.RestsOn.BALANCES)

# Index: the primary key (account_id, consensus_timestamp).
_BASE = """
    select b.consensus_timestamp, b.consensus_timestamp + coalesce(f.time_offset, 0)
    from account_balance b left join account_balance_file f using (consensus_timestamp)
    where b.account_id = %s and b.consensus_timestamp < %s order by b.consensus_timestamp desc limit 1"""
# The offset of some files is known by errata only after these are loaded. Index: the primary key.
_OFFSET = """
    select time_offset from account_balance_file
    where consensus_timestamp = %s and not synthetic and time_offset <> 0"""

_BALANCES = """
    insert into balance_difference (consensus_timestamp, account_id, token_id, ours, theirs, file)
    select %(at)s, account_id, 0, coalesce(ours.balance, 0), coalesce(theirs.balance, 0), %(file)s
    from (
        select account_id, sum(balance)::bigint as balance from (
            select * from (
                select distinct on (account_id) account_id, balance from account_balance
                where consensus_timestamp >= %(month)s and consensus_timestamp <= %(base)s
                order by account_id, consensus_timestamp desc
            ) snapshot
            union all
            select entity_id, amount from crypto_transfer
            where consensus_timestamp > %(since)s and consensus_timestamp <= %(last)s and entity_id <> 0
                and errata is distinct from 'DELETE'
        ) part group by account_id
    ) ours full join (
        select distinct on (account_id) account_id, balance from file_balance where token_id is null
    ) theirs using (account_id)
    where coalesce(ours.balance, 0) <> coalesce(theirs.balance, 0)"""

# A change of treasury moves all serials at once, and a deleted token is in no file: tokens of which either
# happened are left out.
_TOKENS = """
    with moved as materialized (
        select t.type, n.* from transaction t, jsonb_to_recordset(t.nft_transfer) as n
            (token_id bigint, sender_account_id bigint, receiver_account_id bigint, serial_number bigint)
        where t.consensus_timestamp > %(since)s and t.consensus_timestamp <= %(last)s
            and jsonb_typeof(t.nft_transfer) = 'array'
    ), left_out as (
        select token_id from moved where serial_number < 0 or type = %(treasury_changes)s
        union select id from entity where type = 'TOKEN' and deleted
    )
    insert into balance_difference (consensus_timestamp, account_id, token_id, ours, theirs, file)
    select %(at)s, account_id, token_id, coalesce(ours.balance, 0), coalesce(theirs.balance, 0), %(file)s
    from (
        select account_id, token_id, sum(balance)::bigint as balance from (
            select * from (
                select distinct on (account_id, token_id) account_id, token_id, balance from token_balance
                where consensus_timestamp >= %(month)s and consensus_timestamp <= %(base)s
                order by account_id, token_id, consensus_timestamp desc
            ) snapshot
            union all
            select account_id, token_id, amount from token_transfer
            where consensus_timestamp > %(since)s and consensus_timestamp <= %(last)s
            union all
            select sender_account_id, token_id, -1 from moved where sender_account_id is not null
            union all
            select receiver_account_id, token_id, 1 from moved where receiver_account_id is not null
        ) part group by account_id, token_id
    ) ours full join (
        select distinct on (account_id, token_id) account_id, token_id, balance
        from file_balance where token_id is not null
    ) theirs using (account_id, token_id)
    where coalesce(ours.balance, 0) <> coalesce(theirs.balance, 0)
        and token_id not in (select token_id from left_out)"""

_JOB = """
    insert into reconciliation_job
        (consensus_timestamp, count, error, timestamp_start, timestamp_end, status)
    values (%s, %s, %s, %s, now(), %s)"""


class Outcome(IntEnum):
    """The status of a reconciliation_job."""

    EQUAL = 2
    HBAR_DIFFERS = 3
    SUM_DIFFERS = 4
    TOKENS_DIFFER = 5


@dataclass(frozen=True)
class Comparison:
    """The comparison with one file: how many balances it states, and how many of hbar and tokens differ."""

    file: str
    balances: int
    hbar: int
    tokens: int
    total: int

    @property
    def outcome(self) -> Outcome:
        if self.total != TOTAL_TINYBARS:
            return Outcome.SUM_DIFFERS
        if self.hbar:
            return Outcome.HBAR_DIFFERS
        return Outcome.TOKENS_DIFFER if self.tokens else Outcome.EQUAL

    @property
    def sentence(self) -> str:
        findings = []
        if self.total != TOTAL_TINYBARS:
            findings.append(f"its accounts hold {self.total:,} tinybars together, not {TOTAL_TINYBARS:,}")
        if self.hbar or self.tokens:
            findings.append(f"{self.hbar:,} balances of hbar and {self.tokens:,} of tokens differ")
        return f"{self.file}: " + ("; ".join(findings) or f"all {self.balances:,} balances are equal") + "."


class NotComparable(Exception):
    """The node has nothing to compare a file with; the message says why."""


def reconcile(file: BalanceFile) -> Comparison:
    """Compare the node with a file, and store the differences. Errors: NotComparable, StreamFileError."""
    started_at = datetime.now(UTC)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set transaction isolation level repeatable read")
        values = _query_values(cursor, file)
        stage(cursor, file)
        cursor.execute(
            "select count(*), coalesce(sum(balance) filter (where token_id is null), 0) from file_balance"
        )
        count, total = cursor.fetchone()
        cursor.execute("delete from balance_difference where consensus_timestamp = %(at)s", values)
        cursor.execute(_BALANCES, values)
        hbar = cursor.rowcount
        tokens = 0
        if file.version > 1 and config.value("importer.parser.record.historicalBalance.tokenBalances"):
            cursor.execute(_TOKENS, values)
            tokens = cursor.rowcount
        comparison = Comparison(file.name, count, hbar, tokens, int(total))
        error = "" if comparison.outcome is Outcome.EQUAL else comparison.sentence
        cursor.execute(_JOB, [values["at"], count, error, started_at, comparison.outcome])
    return comparison


def _query_values(cursor: CursorWrapper, file: BalanceFile) -> dict[str, int | str]:
    """Return the values for the statements: the snapshot, and the transfers from there to the file's time."""
    timestamp = file.consensus_timestamp
    cursor.execute(_OFFSET, [timestamp])
    stored = cursor.fetchone()
    last = timestamp + (stored[0] if stored else offset_of(timestamp))
    loaded = loaded_ranges.read()
    if not loaded.is_known:
        raise NotComparable(
            f"{file.name}: what is loaded is not known until `manage.py upgrade` has listed it."
        )
    interval, _ = loaded.neighbours(last)
    if interval is None or last > interval.end:
        raise NotComparable(f"{file.name}: its time is not loaded.")
    treasury = config.own_id(TREASURY_NUM)
    cursor.execute(_BASE, [treasury, timestamp])
    row = cursor.fetchone()
    base, base_end = row or (0, 0)
    # A range that rests on balances begins just after them.
    if row and base_end < interval.start - 1:
        raise NotComparable(
            f"{file.name}: files are missing between the snapshot of balances before it and its time."
        )
    if not row and interval.rests_on != LoadedRange.RestsOn.GENESIS:
        raise NotComparable(f"{file.name}: there is no snapshot of balances before it.")
    return {
        "at": timestamp,
        "file": file.name,
        "last": last,
        "base": base,
        "since": base_end,
        "month": month_start(base),
        "treasury_changes": NUMBERS["TOKENUPDATE"],
    }


# THE BALANCE FILES OF A BUCKET


def is_comparable() -> bool:
    """Return whether the newest blocks can equal the balances of the network, from snapshots."""
    intervals = loaded_ranges.read().intervals
    if not intervals or not config.value(_SNAPSHOTS):
        return False
    return intervals[-1].rests_on in _BASES and not intervals[-1].filters


def compare_newest(download: BalanceDownload, quorums: Quorums, *, force: bool = False) -> Comparison | None:
    """Compare with the newest file of a day, once unless `force`; None without. Errors: NotComparable."""
    published = _newest(download, quorums, after=0 if force else _last_compared())
    if published is None:
        return None
    file, _ = download.fetch_balances(published, quorums.quorum())
    return reconcile(file)


def _newest(download: BalanceDownload, quorums: Quorums, *, after: int) -> PublishedBalances | None:
    intervals = loaded_ranges.read().intervals
    if not intervals:
        return None
    start, end = intervals[-1].start, intervals[-1].end
    after = max(after, start - 1, end - NANOS_PER_DAY)
    if after >= end:
        return None
    complete = [
        each
        for each in download.published(quorums.quorum(), after, end)
        if each.instant + offset_of(each.instant) <= end
    ]
    return complete[-1] if complete else None


def _last_compared() -> int:
    return int(statements.value("select coalesce(max(consensus_timestamp), 0) from reconciliation_job"))
