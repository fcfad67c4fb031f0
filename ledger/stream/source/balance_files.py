"""Balance files below folders, in any bucket layout, or named one by one.

They lie in `accountBalances/balance<shard.realm.num>/` or `<network>/<shard>/<nodeId>/balance/`, the copies
of several nodes, or loose. In a node's folder, and wherever there are signature files, a quorum of the nodes
has to have signed them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from ledger.stream import balance_names
from ledger.stream.balance_file import BalanceFile, read_balance_file
from ledger.stream.signature.quorum import Quorum, SignedHashes, Votes
from ledger.stream.source.stream_file import UNKNOWN_NODE, content_at, first_intact, node_of


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
        """Return the file, and the nodes that signed it: a quorum of them, if nodes have published it.

        Without a `quorum`, signatures do not matter. Errors: StreamFileError, NoQuorum among them.
        """
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
    """Read the file that a quorum signed from the first of these nodes that has it intact.

    `content_at` returns the bytes that a node has. Errors: StreamFileError.
    """

    def read(node: int) -> BalanceFile:
        file = read_balance_file(signed.data_name, content_at(node))
        signed.check(file)
        return file

    return first_intact(signed, ((node, partial(read, node)) for node in nodes)), signed.signers


def find_balance_files(paths: Iterable[Path]) -> list[LocalBalances]:
    """Return the balance files of folders and files in the order of their times: one of each time, in the
    format that holds tokens.
    """
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
