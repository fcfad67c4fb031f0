"""The start point of a node that begins in the middle of a stream: after a balance file of the network."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from ledger.ingest.balances import choosing
from ledger.ingest.balances.start import Start
from ledger.ingest.following.configured_bucket import open_balance_download
from ledger.ingest.hash_chain import Position
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.record_names import shortest_time
from ledger.stream.signature.quorum import NoAddressBook
from ledger.stream.source.balance_files import MAX_LOOKBACK
from ledger.stream.source.local import FileOnDisk
from mirror.core.logs import Echo
from mirror.models import LoadedRange
from network import bundled


def from_files(
    paths: Iterable[Path], files: Sequence[FileOnDisk], first_book: bytes | None, *, signed: bool, echo: Echo
) -> tuple[Sequence[FileOnDisk], Start | None]:
    """Return the files to load, and the balances to begin with: what lies before these is left out.

    Errors: StreamFileError for a first file that is damaged.
    """
    if not choosing.is_enabled():
        return files, None
    start: Start | None = None
    if Position.stored():
        first = resting_on_balances()
        if first is None:
            return files, None
        last = first.consensus_start - 1
    else:
        try:
            quorums = Quorums(bundled.address_book() or first_book) if signed else None
            start = choosing.from_folders(paths, files, quorums)
        except choosing.NoBalances as problem:
            echo(choosing.UNKNOWN.format(reason=problem))
        except NoAddressBook:
            # Loading reports it, too.
            return files, None
        if start is None:
            return files, None
        echo(start.sentence)
        last = start.last
    before = bisect_right([file.instant for file in files if file.number is None], last)
    # Only the last of the files that begin before may hold something that comes after.
    if before and files[before - 1].record_file().consensus_end > last:
        before -= 1
    if before:
        echo(f"{before:,} files from before these balances are left out.")
    return files[before:], start


def from_bucket(location: str, first_book: bytes | None, at: int, echo: Echo) -> Start | None:
    """Return the balances to begin with at a time (ns), where nothing is loaded yet."""
    if not choosing.is_enabled():
        return None
    with closing(open_balance_download(location)) as download:
        try:
            start = choosing.from_bucket(download, Quorums(bundled.address_book() or first_book), at)
        except choosing.NoBalances as problem:
            echo(choosing.UNKNOWN.format(reason=problem))
            return None
        except NoAddressBook:
            return None
    echo(start.sentence)
    return start


def resting_on_balances() -> LoadedRange | None:
    first = LoadedRange.objects.order_by("consensus_start").first()
    return first if first and first.rests_on == LoadedRange.RestsOn.BALANCES else None


def effective(start: int) -> int:
    """Return the start (ns) in force for a configured one: that of the balance file before it, if loaded."""
    first = resting_on_balances()
    if first and first.consensus_start <= start <= first.consensus_start + MAX_LOOKBACK:
        return int(first.consensus_start)
    return start


def date_text(at: int) -> str:
    """Return a time (ns) as importer.startDate has it."""
    return shortest_time(at).replace("_", ":")
