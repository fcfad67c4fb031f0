"""Downloads of balance files from buckets, verified by the signatures of the nodes."""

from collections.abc import Mapping
from dataclasses import dataclass

from ledger.stream import balance_names, record_names
from ledger.stream.balance_file import BalanceFile
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.quorum import Quorum
from ledger.stream.source.balance_files import read_signed
from ledger.stream.source.bucket import Bucket
from ledger.stream.source.download import Download, Layout, Published
from mirror.core.values.timestamp import NANOS_PER_DAY

# Nodes write balance files every 15 minutes. If the first of these periods has none, the second is searched.
MAX_LOOKBACK = 31 * NANOS_PER_DAY
_WINDOWS = (NANOS_PER_DAY, MAX_LOOKBACK)


@dataclass(frozen=True, kw_only=True)
class BalanceLayout(Layout):
    """The folders where nodes publish their balance files: `accountBalances/balance<account>/` or
    `<network>/<shard>/<node id>/balance/`.
    """

    top_folder = "accountBalances"
    stream_name = "balance"


@dataclass(frozen=True)
class PublishedBalances:
    """The balance file of one time that nodes have published: each node's folder by format."""

    name: str
    signature: str
    folders: Mapping[int, str]

    @property
    def instant(self) -> int:
        """The time in its name (ns)."""
        return balance_names.parse(self.name).instant


class BalanceDownload(Download):
    """Downloads balance files from a bucket. Close it when done."""

    def __init__(self, bucket: Bucket, layout: BalanceLayout, *, concurrency: int) -> None:
        super().__init__(bucket, layout, sidecars=False, concurrency=concurrency)

    def is_signature(self, name: str) -> bool:
        return balance_names.is_signature(name)

    def published(self, quorum: Quorum, after: int, until: int) -> list[PublishedBalances]:
        """Return the files from after one time (ns) until another, one of each time, in order.

        Errors: StreamFileError if no node's folder can be listed.
        """
        position = record_names.shortest_time(after) + "_C"
        by_time: dict[str, Published] = {}
        while True:
            listing = self.listing(quorum, position)
            if listing.problems and not listing.files and len(listing.problems) == len(quorum.accounts):
                cause = next(iter(listing.problems.values()))
                raise StreamFileError(self.bucket.location, 0, f"balance files can't be listed: {cause}")
            for file in sorted(listing.files, key=lambda file: balance_names.preference(file.name)):
                by_time.setdefault(balance_names.parse(file.name).time, file)
            if not listing.files or balance_names.parse(listing.files[-1].name).instant > until:
                break
            position = balance_names.parse(listing.files[-1].name).after
        files = [
            PublishedBalances(balance_names.data_name(file.name), file.name, file.folders)
            for file in by_time.values()
        ]
        return sorted(
            (file for file in files if after < file.instant <= until), key=lambda file: file.instant
        )

    def newest(self, quorum: Quorum, until: int) -> list[PublishedBalances]:
        """Return the files up to a time (ns), the newest first; none where there are none of a month."""
        for window in _WINDOWS:
            if files := self.published(quorum, max(until - window, 0), until):
                return files[::-1]
        return []

    def fetch_balances(
        self, published: PublishedBalances, quorum: Quorum
    ) -> tuple[BalanceFile, tuple[int, ...]]:
        """Return the file, verified, and the nodes that signed it. Errors: StreamFileError, NoQuorum among
        them.
        """
        signed = self._collect_signatures(Published(published.signature, published.folders), quorum).require()

        def reader(node: int) -> bytes:
            return self.bucket.read(f"{published.folders[node]}/{signed.data_name}")

        return read_signed(signed, signed.signers, reader)
