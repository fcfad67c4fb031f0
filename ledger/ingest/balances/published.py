"""The balance files of a bucket: comparing the newest one that the loaded blocks have reached."""

from django.db import connection

from ledger.ingest.balances.reconciliation import Compared, reconcile
from ledger.ingest.balances.staging import offset_of
from ledger.ingest.trust import Trust
from ledger.stream.source.balances import BalanceDownload, PublishedBalances
from mirror.core import config
from mirror.core.db import coverage
from mirror.core.values.timestamp import NANOS_PER_DAY
from mirror.models import LoadedRange

_SNAPSHOTS = "importer.parser.record.historicalBalance.enabled"
_BASES = (LoadedRange.RestsOn.GENESIS, LoadedRange.RestsOn.BALANCES)


def is_comparable() -> bool:
    """Return whether the newest blocks can have the balances of the network, and the comparison is not dear.

    Otherwise every balance of the network might differ at every file, or all transfers be summed.
    """
    intervals = coverage.read().intervals
    if not intervals or not config.value(_SNAPSHOTS):
        return False
    return intervals[-1].rests_on in _BASES and not intervals[-1].filters


def compare_newest(download: BalanceDownload, trust: Trust, *, again: bool = False) -> Compared | None:
    """Compare the node with the newest file of a bucket that its blocks have reached, within a day.

    None if there is none, or if it was compared before, unless `again`. Errors: StreamFileError; IngestError;
    NotComparable.
    """
    published = _newest(download, trust, after=0 if again else _compared_until())
    if published is None:
        return None
    file, _ = download.fetch_balances(published, trust.quorum())
    return reconcile(file)


def _newest(download: BalanceDownload, trust: Trust, *, after: int) -> PublishedBalances | None:
    intervals = coverage.read().intervals
    if not intervals:
        return None
    start, end = intervals[-1].start, intervals[-1].end
    after = max(after, start - 1, end - NANOS_PER_DAY)
    if after >= end:
        return None
    reached = [
        each
        for each in download.published(trust.quorum(), after, end)
        if each.instant + offset_of(each.instant) <= end
    ]
    return reached[-1] if reached else None


def _compared_until() -> int:
    with connection.cursor() as cursor:
        cursor.execute("select coalesce(max(consensus_timestamp), 0) from reconciliation_job")
        return int(cursor.fetchone()[0])
