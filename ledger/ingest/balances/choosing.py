"""The balance file that a start in the middle of the stream begins with."""

from collections.abc import Iterable
from pathlib import Path

from ledger.ingest.balances.start import MAX_FILE, Start
from ledger.ingest.hash_chain import begins_network
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.balance_file import BalanceFile
from ledger.stream.errors import StreamFileError
from ledger.stream.source.balance_files import BalanceDownload, find_balance_files
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config, logs
from mirror.core.values import timestamp

log = logs.logger(__name__)

SETTING = "importer.balances.start"

UNKNOWN = (
    "Loading begins in the middle of the stream without balances: those of accounts and tokens count from "
    "zero, and what was before is not known. {reason}"
)
_MAX_ATTEMPTS = 5


class NoBalances(Exception):
    """No balance file fits the start; the message says why."""


def is_enabled() -> bool:
    return str(config.value(SETTING)) == "auto"


def from_bucket(download: BalanceDownload, quorums: Quorums, until: int) -> Start:
    """Return the start after the newest balance file up to a time (ns). Errors: NoBalances; NoAddressBook."""
    quorum = quorums.quorum()
    reason = ""
    try:
        for published in download.newest(quorum, until)[:_MAX_ATTEMPTS]:
            try:
                file, signers = download.fetch_balances(published, quorum)
                return Start(_readable(file), signers)
            except StreamFileError as error:
                reason = reason or str(error)
                log.warning("balances_refused", file=published.name, reason=str(error))
    except StreamFileError as error:
        reason = str(error)
    if reason:
        raise NoBalances(f"The balance files before it can't be used: {reason}")
    raise NoBalances(
        f"There is no balance file of the month before {timestamp.text(until)} in {download.bucket.location}."
    )


def from_folders(paths: Iterable[Path], files: Iterable[StreamFile], quorums: Quorums | None) -> Start | None:
    """Return the start after the first balance file that is not older than the first of these files.

    An older one is without what happened between the two. None for files that begin with the network.
    Errors: NoBalances; NoAddressBook; StreamFileError for a first file that is damaged.
    """
    first = next(iter(files))
    record = first.record_file()
    if begins_network(record):
        return None
    quorum = quorums.quorum() if quorums else None
    has_older, reason = False, ""
    for local in find_balance_files(path for path in paths if path.is_dir()):
        if local.instant < record.consensus_start - 1 - MAX_FILE:
            has_older = True
            continue
        try:
            file, signers = local.read(quorum)
            start = Start(_readable(file), signers)
        except StreamFileError as error:
            reason = reason or str(error)
            log.warning("balances_refused", file=local.name, reason=str(error))
            continue
        if start.last >= record.consensus_start - 1:
            return start
        has_older = True
    if reason:
        raise NoBalances(f"A balance file can't be used: {reason}")
    if has_older:
        raise NoBalances(
            f"The balance files beside {record.name} are older than it, and the transactions between are not "
            "there: add the record files from the balance file on."
        )
    raise NoBalances(
        f"There is no balance file beside {record.name}: add one of its time or later, such as "
        "accountBalances/balance0.0.3/<time>_Balances.pb.gz with its signatures."
    )


def _readable(file: BalanceFile) -> BalanceFile:
    """Return a file that can be read to its end. Errors: StreamFileError."""
    for _ in file.holdings():
        pass
    return file
