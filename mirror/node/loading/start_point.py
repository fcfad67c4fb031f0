"""Where loading begins if it begins in the middle of a stream: after a balance file of the network."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ledger.ingest.balances import choosing
from ledger.ingest.balances.start import Start
from ledger.ingest.chain import Position
from ledger.ingest.following.configured_bucket import open_balance_download
from ledger.ingest.trust import Trust
from ledger.stream.record.names import shortest_time
from ledger.stream.signature.quorum import NoAddressBook
from ledger.stream.source.balances import LONGEST_BEFORE
from ledger.stream.source.local import FileOnDisk
from mirror.models import LoadedRange
from network import bundled

Say = Callable[[str], None]


def of_files(
    paths: Iterable[Path], files: Sequence[FileOnDisk], first_book: bytes | None, *, signed: bool, say: Say
) -> tuple[Sequence[FileOnDisk], Start | None]:
    """Return the files to load, and the balances to begin with: what lies before these is left out.

    Errors: StreamFileError for a first file that is damaged.
    """
    if not choosing.wanted():
        return files, None
    start: Start | None = None
    if Position.stored():
        began = begun()
        if began is None:
            return files, None
        last = began.consensus_start - 1
    else:
        try:
            trust = Trust(bundled.address_book() or first_book) if signed else None
            start = choosing.from_folders(paths, files, trust)
        except choosing.NoBalances as problem:
            say(choosing.UNKNOWN.format(reason=problem))
        except NoAddressBook:
            # Loading says so, too.
            return files, None
        if start is None:
            return files, None
        say(start.sentence)
        last = start.last
    before = bisect_right([file.instant for file in files if file.number is None], last)
    # Only the last of the files that begin before may hold something that comes after.
    if before and files[before - 1].record_file().consensus_end > last:
        before -= 1
    if before:
        say(f"{before:,} files from before these balances are left out.")
    return files[before:], start


def of_bucket(location: str, first_book: bytes | None, at: int, say: Say) -> Start | None:
    """Return the balances to begin with where nothing is loaded yet, and a time (ns) is wanted."""
    if not choosing.wanted():
        return None
    download = open_balance_download(location)
    try:
        start = choosing.from_bucket(download, Trust(bundled.address_book() or first_book), at)
    except choosing.NoBalances as problem:
        say(choosing.UNKNOWN.format(reason=problem))
        return None
    except NoAddressBook:
        return None
    finally:
        download.close()
    say(start.sentence)
    return start


def begun() -> LoadedRange | None:
    """Return the first range if it rests on balances."""
    first = LoadedRange.objects.order_by("consensus_start").first()
    return first if first and first.rests_on == LoadedRange.RestsOn.BALANCES else None


def made(start: int) -> int:
    """Return where a start (ns) that is wanted was already made: at the balance file before it, if so."""
    began = begun()
    if began and began.consensus_start <= start <= began.consensus_start + LONGEST_BEFORE:
        return int(began.consensus_start)
    return start


def date_of(at: int) -> str:
    """Return a time (ns) as importer.startDate has it."""
    return shortest_time(at).replace("_", ":")
