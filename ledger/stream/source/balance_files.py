"""Balance files on disk, and in buckets where nodes publish them.

They lie in `accountBalances/balance<shard.realm.num>/` or `<network>/<shard>/<nodeId>/balance/`, the copies
of several nodes, or loose. In a node's folder, and wherever there are signature files, a quorum of the nodes
has to have signed them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from ledger.stream import balance_names, record_names
from ledger.stream.balance_file import BalanceFile, read_balance_file
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.quorum import Quorum, SignedHashes, Votes
from ledger.stream.source.bucket import Bucket
from ledger.stream.source.download import Download, Layout, Published
from ledger.stream.source.stream_file import UNKNOWN_NODE, content_at, first_intact, node_of
from mirror.core.values.timestamp import NANOS_PER_DAY


@dataclass(frozen=True)
class LocalBalances:
    """The balance file of one time on disk: its copies and signatures by the node whose folder has them."""

    name: str
    copies: Mapping[int, Path]
    signatures: Mapping[int, Path]

    @property
    def instant(self) -> int:
        """The time in its name (ns)."""
        return balance_names.parse(self.name).instant

    @property
    def published(self) -> bool:
        """Return whether nodes have published it, who sign what they publish."""
        return bool(self.signatures) or set(self.copies) != {UNKNOWN_NODE}

    def read(self, quorum: Quorum | None) -> tuple[BalanceFile, tuple[int, ...]]:
        """Return the file, and its signers, a quorum if nodes published it. Errors: StreamFileError."""
        if quorum is None or not self.published:
            node, path = next(iter(self.copies.items()))
            return read_balance_file(self.name, content_at(path)), ()
        votes = Votes(balance_names.signature_name(self.name), quorum)
        for node, path in self.signatures.items():
            votes.add_file(node, content_at(path))
        signed = votes.require()
        return read_signed(signed, self.copies, lambda node: content_at(self.copies[node]))


def read_signed(
    signed: SignedHashes, nodes: Iterable[int], content_at: Callable[[int], bytes]
) -> tuple[BalanceFile, tuple[int, ...]]:
    """Read the file that a quorum signed from the first node that has it intact. Errors: StreamFileError."""

    def read(node: int) -> BalanceFile:
        file = read_balance_file(signed.data_name, content_at(node))
        signed.check(file)
        return file

    return first_intact(signed, ((node, partial(read, node)) for node in nodes)), signed.signers


def find_balance_files(paths: Iterable[Path]) -> list[LocalBalances]:
    """Return one balance file of each time, in order, in the format that holds tokens."""
    copies: dict[str, dict[int, Path]] = {}
    signatures: dict[str, dict[int, Path]] = {}
    for path in chain.from_iterable(map(_files, paths)):
        if balance_names.is_data(path.name) and path.stat().st_size:
            copies.setdefault(path.name, {}).setdefault(node_of(path, "balance"), path)
        elif balance_names.is_signature(path.name) and path.stat().st_size:
            signatures.setdefault(balance_names.data_name(path.name), {}).setdefault(
                node_of(path, "balance"), path
            )
    by_time: dict[str, LocalBalances] = {}
    for name in sorted(copies, key=balance_names.preference):
        by_time.setdefault(
            balance_names.parse(name).time, LocalBalances(name, copies[name], signatures.get(name, {}))
        )
    return sorted(by_time.values(), key=lambda file: file.instant)


def _files(path: Path) -> Iterable[Path]:
    return sorted(path.rglob("*_Balances.*")) if path.is_dir() else [path]


# Nodes write balance files every 15 minutes. If the first of these periods has none, the second is searched.
MAX_LOOKBACK = 31 * NANOS_PER_DAY
_WINDOWS = (NANOS_PER_DAY, MAX_LOOKBACK)


@dataclass(frozen=True, kw_only=True)
class BalanceLayout(Layout):
    """`accountBalances/balance<account>/` or `<network>/<shard>/<node id>/balance/`."""

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
        """Return the files from after one time (ns) until another, one of each. Errors: StreamFileError."""
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
        """Return the file, verified, and the nodes that signed it. Errors: StreamFileError."""
        signed = self._collect_signatures(Published(published.signature, published.folders), quorum).require()

        def reader(node: int) -> bytes:
            return self.bucket.read(f"{published.folders[node]}/{signed.data_name}")

        return read_signed(signed, signed.signers, reader)
